// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes over a finished function, on functions that are written as text: no source, no walk.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/ir/text.h"
#include "analyzer/lowering/host_loops.h"
#include "analyzer/lowering/host_paths.h"

namespace streamsan::analyzer::host {
namespace {

ir::Function parsed(const std::string& body) {
  ir::Program program;
  std::string error;
  EXPECT_TRUE(
      ir::parse("function f\n  parameter p pointer\n  parameter n integer\n  local i integer\n" + body, program, error))
      << error;
  return program.functions.empty() ? ir::Function{} : program.functions.begin()->second;
}

std::vector<Loop> loops_of(const ir::Function& function) {
  return natural_loops(function, Terminators(function.blocks.size()));
}

using Blocks = std::vector<std::size_t>;

/// Blocks: 0, outer 1, inner 2, inner latch 3, outer latch 4, done 5.
const std::string kNested = R"(
  goto outer
outer:
  branch {n > 0} inner done
inner:
  branch {i > 0} next latch
next:
  goto inner
latch:
  goto outer
done:
)";

TEST(Loops, SmallOnesFirst) {
  const std::vector<Loop> loops = loops_of(parsed(kNested));
  ASSERT_EQ(loops.size(), 2U);
  EXPECT_EQ(loops[0].head, 2U);
  EXPECT_EQ(loops[0].blocks, (Blocks{2, 3}));
  EXPECT_EQ(loops[1].head, 1U);
  EXPECT_EQ(loops[1].blocks, (Blocks{1, 2, 3, 4}));
  EXPECT_TRUE(loops[1].has(3));
  EXPECT_FALSE(loops[1].has(5));
}

TEST(Loops, WaysThatMeetAreNone) {
  EXPECT_TRUE(
      loops_of(parsed("  branch {n > 0} a b\na:\n  goto done\nb:\n  goto done\ndone:\n  sync_device\n")).empty());
}

TEST(Loops, HeadsAreMarked) {
  ir::Function function = parsed(kNested);
  mark_loops(function);
  std::vector<bool> heads;
  for (const ir::Block& block : function.blocks) heads.push_back(block.loop_head);
  EXPECT_EQ(heads, (std::vector<bool>{false, true, true, false, false, false}));
}

TEST(Loops, WhatEveryRoundComesThrough) {
  const ir::Function straight = parsed("  goto head\nhead:\n  goto body\nbody:\n  branch {n > 0} head done\ndone:\n");
  ASSERT_EQ(loops_of(straight).size(), 1U);
  EXPECT_TRUE(passes(straight, loops_of(straight).front(), 2));
  const ir::Function condition = parsed(
      "  goto head\nhead:\n  branch {i > 0} body latch\nbody:\n  goto latch\nlatch:\n  branch {n > 0} head "
      "done\ndone:\n");
  ASSERT_EQ(loops_of(condition).size(), 1U);
  EXPECT_FALSE(passes(condition, loops_of(condition).front(), 2));
  EXPECT_TRUE(passes(condition, loops_of(condition).front(), 3));
}

TEST(Loops, WhatIsWrittenVaries) {
  const ir::Function function = parsed(
      "  goto head\nhead:\n  fresh i\n  host writes p + {i}, reads p + {n}\n  branch {n > 0} head done\ndone:\n");
  const Loop loop = loops_of(function).front();
  const auto& accesses = function.blocks[1].ops.back().accesses;
  ASSERT_EQ(accesses.size(), 2U);
  EXPECT_TRUE(varies(function, accesses[0].memory.offset, loop));
  EXPECT_FALSE(varies(function, accesses[1].memory.offset, loop));
}

/// The ops that are left, as their names.
std::string outlined(const std::string& body) {
  ir::Function function = parsed(body);
  outline(function);
  EXPECT_EQ(function.blocks.size(), 1U);
  std::string text;
  for (const ir::Op& op : function.blocks.front().ops) text += std::string(ir::name(op.kind)) + " ";
  return text;
}

TEST(Paths, OneAccessOnTwoPathsIsOne) {
  EXPECT_EQ(outlined("  branch {n > 0} a b\na:\n  host writes p\n  return\nb:\n  host writes p\n  return\n"),
            "host return ");
  EXPECT_EQ(outlined("  branch {n > 0} a b\na:\n  host writes p\n  return\nb:\n  host reads p\n  return\n"),
            "host host return ");
}

TEST(Paths, WhatIsReturnedInSeveralWaysIsNotKnown) {
  ir::Function two = parsed("  local q pointer\n  branch {n > 0} a b\na:\n  return p\nb:\n  return q\n");
  outline(two);
  EXPECT_EQ(two.blocks.front().ops.back().source.kind, ir::Operand::Kind::Unknown);
  ir::Function one = parsed("  branch {n > 0} a b\na:\n  return p\nb:\n  return p\n");
  outline(one);
  EXPECT_EQ(one.blocks.front().ops.back().source.kind, ir::Operand::Kind::Value);
}

}  // namespace
}  // namespace streamsan::analyzer::host
