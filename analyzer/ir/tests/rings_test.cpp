// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many slots are used in turn: each way to write it, and twins that are no ring.
#include "analyzer/ir/rings.h"

#include <gtest/gtest.h>

#include "analyzer/ir/text.h"

namespace streamsan::analyzer::ir {
namespace {

Function function_of(const std::string& ops) {
  Program program;
  std::string error;
  const std::string text = R"(
function f
  parameter n integer
  parameter p pointer
  parameter q pointer
  local i integer
  local t pointer
  local slots object
)" + ops;
  EXPECT_TRUE(parse(text, program, error)) << error;
  return program.functions.at("f");
}

std::int64_t slots(const std::string& next) {
  return rings_of(function_of("  assign i = number + {" + next + "}\n")).slots;
}

TEST(Rings, StepsOfAnIndex) {
  EXPECT_EQ(slots("(i + 1) % 3"), 3);
  EXPECT_EQ(slots("(i + 1) & 3"), 4);
  EXPECT_EQ(slots("i ^ 1"), 2);
  EXPECT_EQ(slots("1 - i"), 2);
  EXPECT_EQ(slots("!i"), 2);
  EXPECT_EQ(slots("(i + 1) == 3 ? 0 : (i + 1)"), 3);
}

TEST(Rings, NoSteps) {
  EXPECT_EQ(slots("i + 1"), 1);
  EXPECT_EQ(slots("(i + 1) & 4"), 1);
  EXPECT_EQ(slots("i ^ 3"), 1);
  EXPECT_EQ(slots("2 - i"), 1);
}

TEST(Rings, ANumberThatIsNoConstantIsNamed) {
  Function function = function_of("  assign i = number + {(i + 1) % n}\n");
  const Rings rings = rings_of(function);
  EXPECT_EQ(rings.slots, 1);
  ASSERT_EQ(rings.numbers.size(), 1U);
  EXPECT_EQ(function.spell(rings.numbers[0]), "n");
  suppose(function, rings.numbers[0], 2);
  EXPECT_EQ(rings_of(function).slots, 2);
  EXPECT_TRUE(rings_of(function).numbers.empty());
}

TEST(Rings, ValuesThatArePassedRound) {
  const auto round = [](const std::string& ops) { return passed_round(function_of(ops), {0}); };
  EXPECT_EQ(round("  assign t = p\n  assign p = q\n  assign q = t\n"), 3);
  EXPECT_EQ(round("  assign t = p\n  assign p = q\n"), 1);
  EXPECT_EQ(round("  assign p = q\n  assign q = p\n"), 2);
  EXPECT_EQ(round("  assign i = n\n  assign n = i\n"), 1);
}

}  // namespace
}  // namespace streamsan::analyzer::ir
