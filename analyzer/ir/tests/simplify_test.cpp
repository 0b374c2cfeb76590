// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What simplify() drops and what it keeps; which functions are inert. In pairs.
#include <gtest/gtest.h>

#include "analyzer/ir/inline.h"
#include "analyzer/ir/text.h"

namespace streamsan::analyzer::ir {
namespace {

Function parsed(const std::string& body) {
  Program program;
  std::string error;
  EXPECT_TRUE(
      parse("function f\n  parameter p pointer\n  parameter &r integer\n  parameter n integer\n"
            "  local s stream\n  local i integer\n  local h object\n" +
                body,
            program, error))
      << error;
  return program.functions.empty() ? Function{} : program.functions.begin()->second;
}

Function simplified(const std::string& body) {
  Function function = parsed(body);
  simplify(function);
  return function;
}

std::string ops(const Function& function) {
  std::string text;
  for (const Block& block : function.blocks) {
    text += &block == &function.blocks.front() ? "" : "| ";
    for (const Op& op : block.ops) {
      text += std::string(name(op.kind)) + " ";
    }
  }
  return text;
}

bool inert(const std::string& body) { return is_inert(parsed(body)); }

TEST(Simplify, DropsWhatNobodySees) {
  EXPECT_EQ(ops(simplified("  assign s = default\n  fresh i\n  sync_device\n  host writes &h\n  end_of_life &h\n")),
            "sync_device ");
  EXPECT_EQ(ops(simplified("  assign s = default\n  sync_stream s\n")), "assign sync_stream ");
}

TEST(Simplify, DropsChains) {
  EXPECT_EQ(ops(simplified("  local t stream\n  assign s = default\n  assign t = s\n  sync_device\n")), "sync_device ");
  EXPECT_EQ(ops(simplified("  local t stream\n  assign s = default\n  assign t = s\n  sync_stream t\n")),
            "assign assign sync_stream ");
}

TEST(Simplify, DropsNumbersThatAreStoredOver) {
  const std::string read = "  assign this.n = h.a\n";
  EXPECT_EQ(ops(simplified("  fresh h.a\n  fresh h.a\n" + read)), "fresh assign ");
  EXPECT_EQ(ops(simplified("  fresh h.a\n  fresh h.b\n  fresh h.a\n  fresh h.b\n" + read)), "fresh fresh assign ");
}

TEST(Simplify, KeepsNumbersThatMayBeReadBefore) {
  const std::string over = "  fresh h.a\n  assign this.n = h.a\n";
  EXPECT_EQ(ops(simplified("  fresh h.a\n  assign this.m = h.a\n" + over)), "fresh assign fresh assign ");
  EXPECT_EQ(ops(simplified("  fresh h.a\n  assign this.o = h\n" + over)), "fresh assign fresh assign ");
  EXPECT_EQ(ops(simplified("  fresh h.a\n  may_sync\n" + over)), "fresh may_sync fresh assign ");
  EXPECT_EQ(ops(simplified("  fresh h.a\n  assign this.m = p->q\n" + over)), "fresh assign fresh assign ");
  EXPECT_EQ(ops(simplified("  fresh h[i]\n  fresh h[i]\n  assign this.n = h[i]\n")), "fresh fresh assign ");
  EXPECT_EQ(ops(simplified("  fresh h.a\n  branch {n} b c\nb:\n  fresh h.a\nc:\n  assign this.n = h.a\n")),
            "fresh | fresh | assign ");
}

TEST(Simplify, KeepsWhatTheCallerSees) {
  EXPECT_EQ(ops(simplified("  fresh r\n  fresh *p\n  fresh this.n\n  fresh ::g\n")), "fresh fresh fresh fresh ");
  EXPECT_EQ(ops(simplified("  fresh n\n  fresh p\n")), "");
}

TEST(Simplify, KeepsWhatAnIndexOrAConditionReads) {
  EXPECT_EQ(ops(simplified("  fresh i\n  sync_stream this.s[i]\n")), "fresh sync_stream ");
  EXPECT_EQ(ops(simplified("  fresh i\n  branch {i} a b\na:\n  sync_device\nb:\n")), "fresh | sync_device | ");
  EXPECT_EQ(ops(simplified("  fresh i\n  branch {n} a b\na:\n  sync_device\nb:\n")), "| sync_device | ");
}

TEST(Simplify, KeepsBytesThatWorkUses) {
  const std::string use = "  enqueue copy c on default reads &h\n";
  EXPECT_EQ(ops(simplified(use + "  host writes &h\n  end_of_life &h\n")), "enqueue host end_of_life ");
  EXPECT_EQ(ops(simplified("  host writes &h, reads p\n  end_of_life &h\n")), "host ");
}

TEST(Simplify, KeepsAnEscapeOfWhatIsKnown) {
  EXPECT_EQ(ops(simplified("  assign h.s = ::g\n  escape &h\n")), "assign escape ");
  EXPECT_EQ(ops(simplified("  fresh h.s\n  escape &h\n")), "");
}

TEST(Simplify, JoinsBlocks) {
  const Function f = simplified(R"(
  sync_device
  goto a
a:
  sync_device
  branch {n} b c
b:
  goto d
c:
  goto d
d:
  goto e
dead:
  may_sync
e:
  record this.e on default
)");
  EXPECT_EQ(ops(f), "sync_device sync_device record ");
  EXPECT_EQ(f.blocks.size(), 1U);
}

TEST(Simplify, KeepsLoopsAndBranches) {
  const Function f = simplified(R"(
  goto head
head: loop
  branch {i < n} body done
body:
  sync_device
  goto latch
latch:
  goto head
done:
  sync_device
)");
  ASSERT_EQ(f.blocks.size(), 4U);
  EXPECT_EQ(ops(f), "| | sync_device | sync_device ");
  EXPECT_TRUE(f.blocks[1].loop_head);
  EXPECT_EQ(f.blocks[2].successors, std::vector{BlockId{1}});
}

TEST(Simplify, EndlessLoopOfEmptyBlocks) {
  EXPECT_EQ(simplified("a:\n  goto b\nb:\n  goto c\nc:\n  goto b\n").blocks.size(), 2U);
}

TEST(Simplify, PacksTheTables) {
  Function f = simplified("  assign s = this.x[i]\n  sync_stream ::g ; a.cu:1 via b.cu:2\n");
  EXPECT_EQ(f.places.size(), 4U);  // three parameters and g
  EXPECT_EQ(f.exprs.size(), 0U);
  EXPECT_EQ(f.sites.size(), 2U);
  EXPECT_EQ(f.spell(f.blocks[0].ops[0].stream), "g");
  EXPECT_EQ(f[f[f.blocks[0].ops[0].site].call].file, "b.cu");
  EXPECT_EQ(f.add(Place{.kind = Place::Kind::Global, .type = TypeKind::Stream, .name = "g"}), PlaceId{3});
  const Function again = [&] {
    Function copy = f;
    simplify(copy);
    return copy;
  }();
  EXPECT_EQ(print(again), print(f));
}

TEST(Inert, OwnVariables) {
  EXPECT_TRUE(inert("  fresh i\n  assign s = default\n  fresh n\n  return i\n"));
  EXPECT_FALSE(inert("  fresh r\n"));
  EXPECT_FALSE(inert("  fresh *p\n"));
  EXPECT_FALSE(inert("  assign this.s = default\n"));
  EXPECT_FALSE(inert("  fresh ::g\n"));
}

TEST(Inert, ReturnedValues) {
  EXPECT_TRUE(inert("  return n\n"));
  EXPECT_TRUE(inert("  return ?\n"));
  EXPECT_TRUE(inert("  fresh s\n  return s\n"));
  EXPECT_FALSE(inert("  assign s = default\n  return s\n"));
  EXPECT_FALSE(inert("  place this.s stream\n  return this.s\n"));
  EXPECT_FALSE(inert("  return p\n"));
  EXPECT_FALSE(inert("  return &h\n"));
}

TEST(Inert, Touches) {
  EXPECT_TRUE(inert("  host writes &h\n  end_of_life &h\n"));
  EXPECT_FALSE(inert("  host writes &h, reads p\n"));
  EXPECT_FALSE(inert("  end_of_life p\n"));
  EXPECT_FALSE(inert("  escape p\n"));
  EXPECT_FALSE(inert("  may_sync\n"));
  EXPECT_FALSE(inert("  sync_device\n"));
  EXPECT_FALSE(inert("  call \"g\"()\n"));
}

TEST(Inert, IncompleteIsNot) {
  Function f = parsed("  fresh i\n");
  EXPECT_TRUE(is_inert(f));
  f.incomplete = "goto";
  EXPECT_FALSE(is_inert(f));
}

}  // namespace
}  // namespace streamsan::analyzer::ir
