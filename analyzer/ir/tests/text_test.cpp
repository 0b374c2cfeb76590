// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text form: what is written is read back as it was, what a person writes is understood, what is wrong is named
// with its line.
#include "analyzer/ir/text.h"

#include <gtest/gtest.h>

#include <array>

namespace streamsan::analyzer::ir {
namespace {

Function parsed(const std::string& text) {
  Program program;
  std::string error;
  EXPECT_TRUE(parse(text, program, error)) << error << "\n" << text;
  return program.functions.empty() ? Function{} : program.functions.begin()->second;
}

std::string error_of(const std::string& text) {
  Program program;
  std::string error;
  EXPECT_FALSE(parse(text, program, error));
  EXPECT_TRUE(program.functions.empty());
  return error;
}

/// The text is what print() writes for what it says.
void expect_exact(const std::string& text) { EXPECT_EQ(print(parsed(text)), text); }

TEST(IrText, SaysWhichFunctionsAreHidden) {
  const std::string head = "function \"Holder::drop\" usr \"c:@S@Holder@F@drop#\"", body = "  sync_device\n";
  EXPECT_TRUE(parsed(head + " hidden\n" + body).hidden);
  EXPECT_FALSE(parsed(head + "\n" + body).hidden);
  EXPECT_NE(print(parsed(head + " hidden\n" + body)).find(" hidden"), std::string::npos);
}

TEST(IrText, ReadsWhatItWrites) {
  expect_exact(R"ir(function "step(float*, cudaStream_t&)" usr "c:@F@step" per_thread_default_stream  ; a.cu:1:6
  parameter p pointer
  parameter &s stream
  local s1 stream
  local i integer
  local i#1 integer
  temporary t pointer
  global ns::g stream
  global $current_stream stream
  place this object
  place this.Holder::streams_ object
  place this.Holder::streams_[i] stream
  place *p object
  place p->x integer
  place (*p)[i] pointer
  place **p other
  place (**p).y event
  place s1[@] pointer
bb0:
  create_stream s1 nonblocking  ; a.cu:3:5 "cudaStreamCreateWithFlags"
  create_event (**p).y no_timing  ; a.cu:4:5
  allocate %t on s1 device_async tensor unchecked  ; a.cu:5:5 in "other" macro via b.cu:7:1 "step" via c.cu:8
  enqueue kernel scale on s1 detail "n, 2.0f" writes p, reads &s1 bytes {n}, touches (*p)[i] inside 8, writes p inside, writes p single 0, writes p single, writes p from 5  ; a.cu:6:5 "kernel 'scale'" launch
  enqueue copy cudaMemcpyAsync on default synchronous implicit_stream reads p + {4} bytes {N @= 16} pinned on_host  ; -
  record (**p).y on ::ns::g  ; a.cu:7:5
  wait s for (**p).y  ; a.cu:8:5
  wait s for ? for_value  ; a.cu:8:9
  elapsed (**p).y (**p).y  ; a.cu:9:5
  call %t = "c:@F@g"(p, &s, null, ?) object &this api g  ; a.cu:10:5
  branch {i > 0 @ i, i#1} bb1 bb2
bb1: loop
  host api "std::copy" host_only reads p, writes p + {map[i] @ i#1 @* 4}  ; a.cu:11:5
  fresh i#1  ; a.cu:12:5
  goto bb1
bb2:
  assign s1 = this.Holder::streams_[i]  ; a.cu:13:5
  end_of_life &s1 detail "goes out of scope" pageable  ; a.cu:14:5 "'s1' goes out of scope" scope_end
  may_sync  ; a.cu:15:5
  return legacy  ; a.cu:16:5
)ir");
}

TEST(IrText, EveryKindOfOpHasAForm) {
  for (int kind = 0; kind <= static_cast<int>(OpKind::MaySync); ++kind) {
    // An op that has every operand, whether its kind uses it or not.
    Function function{.usr = "f", .name = "f"};
    const PlaceId x = function.add(Place{.kind = Place::Kind::Local, .type = TypeKind::Stream, .name = "x"});
    const ExprId n = function.add(Expr{.text = "n * 2", .uses = {x}, .constant = 7});
    const Operand value{.kind = Operand::Kind::Value, .place = x};
    Op op{.kind = static_cast<OpKind>(kind), .target = x, .source = value, .stream = value, .event = value};
    op.event2 = {.kind = Operand::Kind::Address, .place = x, .offset = n};
    op.object = {.kind = Operand::Kind::PerThreadStream};
    op.arguments = {value, {.kind = Operand::Kind::Null}};
    op.accesses = {{.memory = value, .mode = Mode::Atomic, .bytes = n, .on_host = false}};
    op.work = Work::GraphLaunch;
    op.form = Form::Synchronous;
    op.name = "a name";
    op.detail = "\"quoted\"\n; // and more";
    op.callee = "c:@S@X<int>@F@operator()#";
    op.stream_kind = ordering::StreamKind::Legacy;
    op.memory = ordering::MemoryKind::Registered;
    op.timing = false;
    op.tensor = op.implicit_stream = op.unchecked = true;
    op.programmatic = op.triggers_first = Certainty::Yes;
    op.waits = Certainty::Perhaps;
    op.accesses[0].before_wait = Certainty::Yes;
    op.accesses[0].early = Mode::Read;
    function.blocks.push_back({.ops = {op}});
    const std::string text = print(function);
    const Function again = parsed(text);
    EXPECT_EQ(print(again), text);
    ASSERT_EQ(again.blocks.size(), 1U);
    const Op& read = again.blocks[0].ops.at(0);
    EXPECT_EQ(read.kind, op.kind) << text;
    EXPECT_EQ(read.target, op.target) << text;
    EXPECT_EQ(read.source, op.source) << text;
    EXPECT_EQ(read.stream, op.stream) << text;
    EXPECT_EQ(read.event, op.event) << text;
    EXPECT_EQ(again.spell(read.event2), "&x + n * 2") << text;
    EXPECT_EQ(read.object, op.object) << text;
    EXPECT_EQ(read.arguments, op.arguments) << text;
    ASSERT_EQ(read.accesses.size(), 1U);
    EXPECT_EQ(read.accesses[0].mode, Mode::Atomic);
    EXPECT_EQ(again[read.accesses[0].bytes], function[n]);
    EXPECT_EQ(read.accesses[0].on_host, false);
    EXPECT_EQ(read.work, op.work) << text;
    EXPECT_EQ(read.form, op.form);
    EXPECT_EQ(read.name, op.name);
    EXPECT_EQ(read.detail, op.detail);
    EXPECT_EQ(read.callee, op.callee);
    EXPECT_EQ(read.stream_kind, op.stream_kind);
    EXPECT_EQ(read.memory, op.memory);
    EXPECT_EQ(read.timing, op.timing);
    EXPECT_TRUE(read.tensor && read.implicit_stream && read.unchecked);
    EXPECT_EQ(read.programmatic, Certainty::Yes);
    EXPECT_EQ(read.waits, Certainty::Perhaps);
    EXPECT_EQ(read.triggers_first, Certainty::Yes);
    EXPECT_EQ(read.accesses[0].before_wait, Certainty::Yes);
    EXPECT_EQ(read.accesses[0].early, Mode::Read);
    EXPECT_EQ(read.site, kNoSite);
  }
}

TEST(IrText, OddNames) {
  const std::array<std::string, 12> names{"operator()",    "vector<pair<int, char>>",
                                          "a b",           "x;y",
                                          "zeichen\u00e4", "with`tick",
                                          "back\\slash",   "new\nline",
                                          "this",          "legacy",
                                          "a::b",          ""};
  for (const std::string& name : names) {
    Function function{.usr = "usr of " + name, .name = name, .incomplete = name};
    const auto add = [&](Place::Kind kind, TypeKind type, std::uint32_t number) {
      return function.add(Place{.kind = kind, .type = type, .name = name, .number = number});
    };
    const PlaceId parameter = add(Place::Kind::Parameter, TypeKind::Pointer, 0);
    const PlaceId second = add(Place::Kind::Parameter, TypeKind::Pointer, 1);
    function.parameters = {parameter, second};
    std::vector<PlaceId> used{parameter, second};
    used.push_back(add(Place::Kind::Local, TypeKind::Integer, 0));
    used.push_back(add(Place::Kind::Local, TypeKind::Integer, 3));
    used.push_back(add(Place::Kind::Temporary, TypeKind::Stream, 0));
    used.push_back(add(Place::Kind::Global, TypeKind::Stream, 0));
    used.push_back(add(Place::Kind::Local, TypeKind::Event, 0));  // the same name and number, of another type
    const ExprId index = function.add(Expr{.text = name, .uses = {used[2]}});
    used.push_back(
        function.add(Place{.kind = Place::Kind::Field, .name = name, .owner = name + "<" + name, .base = used[5]}));
    used.push_back(function.add(Place{.kind = Place::Kind::Index, .base = used[5], .index = index}));
    used.push_back(function.add(Place{.kind = Place::Kind::Deref, .type = TypeKind::Object, .base = used[5]}));
    Op op{.kind = OpKind::Call, .callee = name};
    for (const PlaceId place : used) {
      op.arguments.push_back({.kind = Operand::Kind::Value, .place = place});
    }
    op.site = function.add(Site{.file = name, .line = 1, .function = name + "!", .text = name});
    function.blocks.push_back({.ops = {op}});
    const std::string text = print(function);
    const Function again = parsed(text);
    EXPECT_EQ(print(again), text);
    EXPECT_EQ(again.name, name);
    EXPECT_EQ(again.incomplete, name);
    ASSERT_EQ(again.places.size(), function.places.size()) << text;
    ASSERT_EQ(again.blocks.size(), 1U);
    const auto& arguments = again.blocks[0].ops.at(0).arguments;
    ASSERT_EQ(arguments.size(), used.size());
    for (std::size_t i = 0; i < used.size(); ++i) {
      const Place& place = again[arguments[i].place];
      const Place& original = function[used[i]];
      EXPECT_EQ(place.kind, original.kind) << text;
      EXPECT_EQ(place.type, original.type) << text;
      EXPECT_EQ(place.name, original.name) << text;
      EXPECT_EQ(place.owner, original.owner) << text;
      EXPECT_EQ(place.number, original.number) << text;
    }
    const Site& site = again[again.blocks[0].ops[0].site];
    EXPECT_EQ(site.file, name);
    EXPECT_EQ(site.text, name);
  }
}

TEST(IrText, OddExpressions) {
  for (const char* text : {"i", "a || b", "x ? y : z", "}{", "]", "a[b[i]]", "'@'", "\"\\n\"", "s.i + i", "-4", "0x10",
                           "", "// no comment", "ns::i"}) {
    for (const bool used : {false, true}) {
      for (const std::optional<std::int64_t> constant : {std::optional<std::int64_t>{}, {4}, {-4}}) {
        Function function{.usr = "f", .name = "f"};
        const PlaceId i = function.add(Place{.type = TypeKind::Integer, .name = "i"});
        Expr expr{.text = text, .constant = constant};
        if (used) {
          expr.uses = {i};
        }
        const ExprId id = function.add(expr);
        const PlaceId element = function.add(Place{.kind = Place::Kind::Index, .base = i, .index = id});
        function.blocks.resize(1);
        function.blocks[0] = {.ops = {{.kind = OpKind::Fresh, .target = element}},
                              .successors = {BlockId{0}, BlockId{0}},
                              .condition = id};
        const Function again = parsed(print(function));
        ASSERT_EQ(again.blocks.size(), 1U);
        EXPECT_EQ(again[again.blocks[0].condition], expr) << print(function);
        EXPECT_EQ(again[again[again.blocks[0].ops.at(0).target].index], expr) << print(function);
      }
    }
  }
}

TEST(IrText, WrittenByHand) {
  Program program;
  std::string error;
  ASSERT_TRUE(parse(R"(
// A ring of streams.
function f
  parameter n integer
  local ss object
  local i integer
  create_stream ss[i] nonblocking       // no label: the entry
  allocate this->d_a
  goto head
head: loop
  branch {i < n} body done
body:
  enqueue kernel scale on ss[i] writes this.d_a reads &ss bytes {n}
  record %e on ss[i] ; a.cu:3
  goto head
done:
handle Holder::stream_ owned nonblocking no_timing
function g
  sync_device
)",
                    program, error))
      << error;
  ASSERT_EQ(program.functions.size(), 2U);
  EXPECT_EQ(program.fields.at("Holder::stream_").stream_kind, ordering::StreamKind::NonBlocking);
  EXPECT_EQ(program.fields.at("Holder::stream_").timing, false);
  EXPECT_TRUE(program.fields.at("Holder::stream_").owned);
  const Function& f = program.functions.at("f");
  ASSERT_EQ(f.blocks.size(), 4U);
  EXPECT_TRUE(f.blocks[1].loop_head);
  EXPECT_EQ(f.blocks[1].successors, (std::vector{BlockId{2}, BlockId{3}}));
  EXPECT_EQ(f[f.blocks[1].condition].uses.size(), 2U);
  const Op& launch = f.blocks[2].ops[0];
  EXPECT_EQ(f[launch.stream.place].type, TypeKind::Stream);
  EXPECT_EQ(f[f[launch.stream.place].index].uses,
            (std::vector{f.blocks[0].ops[0].target == kNoPlace ? kNoPlace : PlaceId{2}}));
  EXPECT_EQ(launch.accesses.size(), 2U);
  EXPECT_EQ(f[launch.accesses[0].memory.place].type, TypeKind::Pointer);
  EXPECT_EQ(f.spell(launch.accesses[0].memory), "this->d_a");
  EXPECT_EQ(launch.accesses[0].memory.place, f.blocks[0].ops[1].target);
  EXPECT_EQ(f[launch.site].line, 13U);
  EXPECT_EQ(f[launch.site].file, "ir");
  EXPECT_EQ(f[f.blocks[2].ops[1].site].file, "a.cu");
  EXPECT_EQ(f[f.blocks[2].ops[1].event.place].type, TypeKind::Event);
}

TEST(IrText, ErrorsNameTheLine) {
  EXPECT_EQ(error_of("nonsense"), "line 1: 'function' expected, at 'nonsense'");
  EXPECT_EQ(error_of("function f\n\n  syncdevice"), "line 3: no op or declaration of that name, at 'syncdevice'");
  EXPECT_EQ(error_of("function f\n  fresh x"), "line 2: no variable 'x' is declared, at the end of the line");
  EXPECT_EQ(error_of("function f\n  goto nowhere\nfunction g\n"), "line 1: no block 'nowhere' in function 'f'");
  EXPECT_EQ(error_of("function f\n"), "line 1: function 'f' has no block");
  EXPECT_EQ(error_of("function f\n  sync_device\nfunction f\n  sync_device"), "line 3: function 'f' is there already");
  EXPECT_EQ(error_of("function f\na:\na:\n").substr(0, 32), "line 3: block 'a' is there alrea");
  EXPECT_EQ(error_of("function f\na:\n  goto a\n  sync_device").substr(0, 29), "line 4: the block has ended: ");
  EXPECT_EQ(error_of("function f\n  local s streem").substr(0, 23), "line 2: a type expected");
  EXPECT_EQ(error_of("function f\n  local s stream\n  sync_stream s quickly"),
            "line 3: 'quickly' is no attribute, at the end of the line");
  EXPECT_EQ(error_of("function f\n  local s stream\n  sync_stream s +").substr(0, 20), "line 3: '{' expected");
  EXPECT_EQ(error_of("function \"f"), "line 1: closing \" expected, at the end of the line");
  EXPECT_EQ(error_of("function f\n  sync_device ; a.cu"), "line 2: ':' expected, at the end of the line");
  EXPECT_EQ(error_of("function f\n  sync_device ; a.cu:99999999999").substr(0, 28), "line 2: line number expected");
}

TEST(IrText, DamagedTextNeverEndsTheProgram) {
  const std::string text = print(parsed(R"(function f
  parameter &p pointer
  local i integer
  enqueue kernel "k" on this.H::s[{i}] writes *p->x + {i @ i @= -3}, reads &p bytes {4} ; "a b":1:2 "t" in g via c:3
)"));
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'\0', '*', '(', '[', '}', '@', '"', '`', '\n', ':', '\\'}) {
      std::string damaged = text;
      damaged[i] = c;
      Program program;
      std::string error;
      if (parse(damaged, program, error)) {
        for (const auto& [usr, function] : program.functions) {
          EXPECT_EQ(usr, function.usr);
          print(function);
        }
      } else {
        EXPECT_TRUE(error.starts_with("line ")) << error;
      }
    }
  }
  EXPECT_NE(error_of("function f\n  fresh " + std::string(100'000, '(')), "");
  EXPECT_NE(error_of("function f\n  fresh " + std::string(100'000, '*')), "");
}

TEST(IrText, SpelledForPeople) {
  const Function f = parsed(R"(function f
  local v object
  local i integer
  local p pointer
  fresh this.H::streams_[i]
  fresh p->x
  fresh (*p)[i]
  fresh v.$data
  fresh ::$current_stream
)");
  const char* const expected[] = {"this->streams_[i]", "p->x", "(*p)[i]", "v", "$current_stream"};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(f.spell(f.blocks[0].ops.at(i).target), expected[i]);
  }
}

TEST(Ir, EqualPlacesHaveOneId) {
  Function function;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 5000; ++i) {
      EXPECT_EQ(function.add(Place{.name = "x", .number = i}), PlaceId{i});
      EXPECT_EQ(function.add(Expr{.text = std::to_string(i)}), ExprId{i});
    }
  }
  function.places.push_back(Place{.name = "y"});  // behind its back
  EXPECT_EQ(function.add(Place{.name = "y"}), PlaceId{5000});
  EXPECT_EQ(function.add(Place{.name = "x", .number = 7}), PlaceId{7});
}

}  // namespace
}  // namespace streamsan::analyzer::ir
