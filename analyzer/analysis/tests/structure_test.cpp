// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structural hazards: each shape that is reported, and beside it the shape next to it that is not. A program is a list
// of blocks built by hand; each op gets its own line, so that a result reads "check@line".
#include <gtest/gtest.h>

#include "analyzer/analysis/structure.h"

namespace streamsan::analyzer {
namespace {

using ir::BlockId;
using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::PlaceId;
using ir::TypeKind;
using ordering::MemoryKind;

class Program {
 public:
  Program() { function_.name = function_.usr = "run"; }

  PlaceId place(const char* name, TypeKind type, Place::Kind kind = Place::Kind::Local, PlaceId base = ir::kNoPlace) {
    Place place;
    place.kind = kind;
    place.type = type;
    place.name = name;
    place.base = base;
    const PlaceId id = function_.add(place);
    if (kind == Place::Kind::Parameter) {
      function_.parameters.push_back(id);
    }
    return id;
  }
  PlaceId stream(const char* name, Place::Kind kind = Place::Kind::Local) {
    return place(name, TypeKind::Stream, kind);
  }

  /// A new block; `to` are the numbers of its successors.
  Program& block(std::initializer_list<std::uint32_t> to) {
    function_.blocks.emplace_back();
    for (const std::uint32_t next : to) {
      function_.blocks.back().successors.push_back(BlockId{next});
    }
    return *this;
  }
  Op& op(OpKind kind, std::uint32_t line) {
    ir::Site site;
    site.file = "a.cu";
    site.line = line;
    site.column = 1;
    Op& op = function_.blocks.back().ops.emplace_back();
    op.kind = kind;
    op.site = function_.add(site);
    return op;
  }
  Program& launch(std::uint32_t line) {
    op(OpKind::Enqueue, line).work = ir::Work::Kernel;
    return *this;
  }
  Program& add(OpKind kind, std::uint32_t line) {
    op(kind, line);
    return *this;
  }
  Op& memory(OpKind kind, std::uint32_t line, PlaceId place, MemoryKind memory = MemoryKind::Device) {
    Op& result = op(kind, line);
    result.memory = memory;
    result.target = kind == OpKind::Allocate ? place : ir::kNoPlace;
    result.source = kind == OpKind::Free ? value(place) : Operand{};
    return result;
  }
  static Operand value(PlaceId place) { return {.kind = Operand::Kind::Value, .place = place}; }

  [[nodiscard]] std::string found() const {
    std::string result;
    for (const Hazard& hazard : structural_hazards(function_)) {
      result += (result.empty() ? "" : " ") + std::string(id(hazard.check)) + "@" +
                std::to_string(hazard.later.where.site.line);
      result += hazard.detail.empty() ? "" : "(" + hazard.detail + ")";
      result += hazard.buffer.name.empty() ? "" : "(" + hazard.buffer.name + ")";
    }
    return result;
  }

  ir::Function& function() { return function_; }

 private:
  ir::Function function_;
};

/// entry 0, loop head 1, body 2, exit 3; ops go to the body.
Program loop() {
  Program program;
  program.block({1}).block({2, 3}).block({1});
  return program;
}

TEST(SyncInLoop, StallsTheNextEnqueue) {
  for (const OpKind sync : {OpKind::SyncStream, OpKind::SyncDevice, OpKind::SyncEvent}) {
    EXPECT_EQ(loop().launch(10).add(sync, 11).block({}).found(), "sync-in-loop@11");
    EXPECT_EQ(loop().add(sync, 9).launch(10).block({}).found(), "sync-in-loop@9");
  }
}

TEST(SyncInLoop, HasAReason) {
  for (const OpKind reason : {OpKind::HostAccess, OpKind::Elapsed, OpKind::Call, OpKind::MaySync, OpKind::Escape,
                              OpKind::Free, OpKind::EndOfLife, OpKind::DestroyHandle}) {
    EXPECT_EQ(loop().launch(10).add(OpKind::SyncDevice, 11).add(reason, 12).block({}).found(), "");
    EXPECT_EQ(loop().add(reason, 9).launch(10).add(OpKind::SyncDevice, 11).block({}).found(), "");
  }
  EXPECT_EQ(loop().launch(10).add(OpKind::SyncDevice, 11).add(OpKind::Fresh, 12).block({}).found(), "sync-in-loop@11");
}

TEST(SyncInLoop, IsAJoin) {
  EXPECT_EQ(loop().add(OpKind::SyncStream, 10).block({}).found(), "");
  // The launch is before the loop, or after it.
  Program before;
  before.block({1}).launch(5).block({2, 3}).block({1}).add(OpKind::SyncStream, 10).block({});
  EXPECT_EQ(before.found(), "");
  EXPECT_EQ(loop().add(OpKind::SyncStream, 10).block({}).launch(20).found(), "");
}

TEST(SyncInLoop, AfterTheLoop) { EXPECT_EQ(loop().launch(10).block({}).add(OpKind::SyncDevice, 20).found(), ""); }

TEST(SyncInLoop, OnceInNestedLoops) {
  Program program;  // 1 outer head, 2 inner head, 3 inner body, 4 outer latch
  program.block({1}).block({2, 5}).block({3, 4}).block({2}).launch(10).add(OpKind::SyncDevice, 11).block({1}).block({});
  EXPECT_EQ(program.found(), "sync-in-loop@11");
}

TEST(SyncInLoop, NoBlocks) { EXPECT_EQ(Program().found(), ""); }

TEST(AllocInLoop, AllocatesAndFrees) {
  for (const MemoryKind kind : {MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Managed}) {
    Program program = loop();
    const PlaceId tmp = program.place("tmp", TypeKind::Pointer);
    program.memory(OpKind::Allocate, 10, tmp, kind);
    program.launch(11);
    program.memory(OpKind::Free, 12, tmp, kind);
    EXPECT_EQ(program.block({}).found(), "alloc-in-loop@10(tmp) alloc-in-loop@12(tmp)");
  }
}

TEST(AllocInLoop, SilentFor) {
  const auto found = [](MemoryKind kind, bool tensor, bool launches, bool element) {
    Program program = loop();
    PlaceId tmp = program.place("tmp", TypeKind::Pointer);
    if (element) {
      tmp = program.place("", TypeKind::Pointer, Place::Kind::Index, tmp);
    }
    program.memory(OpKind::Allocate, 10, tmp, kind).tensor = tensor;
    if (launches) {
      program.launch(11);
    }
    return program.block({}).found();
  };
  EXPECT_EQ(found(MemoryKind::Device, false, true, false), "alloc-in-loop@10(tmp)");
  EXPECT_EQ(found(MemoryKind::DeviceAsync, false, true, false), "");
  EXPECT_EQ(found(MemoryKind::Pageable, false, true, false), "");
  EXPECT_EQ(found(MemoryKind::Device, true, true, false), "");
  EXPECT_EQ(found(MemoryKind::Device, false, false, false), "");
  EXPECT_EQ(found(MemoryKind::Device, false, true, true), "");
}

/// One launch on the default stream at line 10, after what `before` put.
template <typename Before>
std::string default_launch(Before before, bool implicit = true) {
  Program program;
  program.block({});
  before(program);
  Op& launch = program.op(OpKind::Enqueue, 10);
  launch.stream.kind = Operand::Kind::DefaultStream;
  launch.implicit_stream = implicit;
  return program.found();
}

TEST(ImplicitDefaultStream, Parameter) {
  const auto parameter = [](Program& p) { p.stream("s", Place::Kind::Parameter); };
  EXPECT_EQ(default_launch(parameter), "implicit-default-stream@10(s)");
  EXPECT_EQ(default_launch(parameter, /*implicit=*/false), "");  // no place for a stream
  EXPECT_EQ(default_launch([](Program&) {}), "");
  EXPECT_EQ(default_launch([](Program& p) { p.place("n", TypeKind::Integer, Place::Kind::Parameter); }), "");
}

TEST(ImplicitDefaultStream, WrittenZero) {
  const auto found = [](std::uint32_t slot) {
    Program program;
    program.stream("s", Place::Kind::Parameter);
    program.block({});
    Op& launch = program.op(OpKind::Enqueue, 10);
    launch.stream.kind = Operand::Kind::DefaultStream;
    program.function().sites.back().stream_begin = slot;
    return program.found();
  };
  EXPECT_EQ(found(77), "implicit-default-stream@10(s)");
  EXPECT_EQ(found(0), "");
}

TEST(ImplicitDefaultStream, LocalStream) {
  const auto create = [](Program& p) { p.op(OpKind::CreateStream, 5).target = p.stream("s"); };
  EXPECT_EQ(default_launch(create), "implicit-default-stream@10(s)");
  EXPECT_EQ(default_launch([&](Program& p) {
              create(p);
              p.op(OpKind::DestroyHandle, 6).source = Program::value(p.stream("s"));
            }),
            "");
  EXPECT_EQ(default_launch([](Program& p) {
              Op& op = p.op(OpKind::Assign, 5);
              op.target = p.stream("s");
              op.source = Program::value(p.stream("$current_stream", Place::Kind::Global));
            }),
            "implicit-default-stream@10(s)");
  EXPECT_EQ(default_launch([](Program& p) {
              Op& op = p.op(OpKind::Assign, 5);
              op.target = p.stream("s");
              op.source.kind = Operand::Kind::DefaultStream;
            }),
            "");
}

TEST(ImplicitDefaultStream, NotCreatedOnEveryPath) {
  const auto found = [](bool both) {
    Program program;
    const PlaceId s = program.stream("s");
    program.block({1, 2}).block({3});
    program.op(OpKind::CreateStream, 5).target = s;
    program.block({3});
    if (both) {
      program.op(OpKind::CreateStream, 6).target = s;
    }
    program.block({});
    program.op(OpKind::Enqueue, 10).implicit_stream = true;
    return program.found();
  };
  EXPECT_EQ(found(true), "implicit-default-stream@10(s)");
  EXPECT_EQ(found(false), "");
}

TEST(ImplicitDefaultStream, MemberInUse) {
  const auto found = [](bool used) {
    return default_launch([used](Program& p) {
      const PlaceId self = p.place("this", TypeKind::Object, Place::Kind::This);
      const PlaceId member = p.place("stream_", TypeKind::Stream, Place::Kind::Field, self);
      if (used) {
        p.op(OpKind::Enqueue, 9).stream = Program::value(member);
      }
    });
  };
  EXPECT_TRUE(found(true).starts_with("implicit-default-stream@10("));
  EXPECT_EQ(found(false), "");
}

TEST(ImplicitDefaultStream, SeveralAtHand) {
  Program program;
  program.stream("a", Place::Kind::Parameter);
  program.stream("b", Place::Kind::Parameter);
  program.block({});
  program.op(OpKind::Enqueue, 10).implicit_stream = true;
  program.function().sites.back().stream_begin = 77;
  const std::vector<Hazard> hazards = structural_hazards(program.function());
  ASSERT_EQ(hazards.size(), 1U);
  EXPECT_EQ(hazards[0].detail, "a");
  EXPECT_EQ(hazards[0].later.where.site.stream_begin, 0U);  // no repair: which?
}

TEST(Structure, IncompleteFunctionsAreSilent) {
  Program program = loop().launch(10).add(OpKind::SyncDevice, 11).block({});
  EXPECT_NE(program.found(), "");
  program.function().incomplete = "omp parallel";
  EXPECT_EQ(program.found(), "");
}

}  // namespace
}  // namespace streamsan::analyzer
