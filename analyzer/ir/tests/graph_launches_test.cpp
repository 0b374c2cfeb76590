// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the launch of a captured graph is taken to access, and when nothing is.
#include "analyzer/ir/graph_launches.h"

#include <gtest/gtest.h>

#include "analyzer/ir/text.h"

namespace streamsan::analyzer::ir {
namespace {

/// Accesses of the only launch behind `ops`; the one that is always there, of unknown memory, does not count.
/// `besides`: other functions of the program.
std::size_t accesses_behind(const std::string& ops, const std::string& besides = "") {
  Program program;
  std::string error;
  const std::string text = R"(
function f
  parameter s stream
  parameter p pointer
  parameter q pointer
  local g graph
  local x graph
)" + ops + besides;
  EXPECT_TRUE(parse(text, program, error)) << error;
  forget_updated_graphs(program);
  Function& function = program.functions.at("f");
  expand_graph_launches(function);
  for (const Block& block : function.blocks)
    for (const Op& op : block.ops)
      if (op.kind == OpKind::Enqueue && op.work == Work::GraphLaunch) return op.accesses.size() - 1;
  ADD_FAILURE() << "no launch";
  return 0;
}

const std::string kCaptured = R"(
  capture_begin s
  enqueue kernel k on s reads p, writes q
  capture_end s
  fresh g
)";
const std::string kMade = "  fresh x source g\n";
const std::string kLaunched = "  enqueue graph_launch l on s arguments (x) touches ?\n";

TEST(GraphLaunches, DoWhatWasCaptured) { EXPECT_EQ(accesses_behind(kCaptured + kMade + kLaunched), 2U); }

TEST(GraphLaunches, AccessNothingThatIsSetAgain) {
  EXPECT_EQ(accesses_behind(kCaptured + kMade + "  assign p = q\n" + kLaunched), 1U);
}

TEST(GraphLaunches, AccessNothingThatOtherCodeMaySetAgain) {
  const std::string captured =
      "  capture_begin s\n  enqueue kernel k on s reads p, writes ::held\n  capture_end s\n  fresh g\n";
  EXPECT_EQ(accesses_behind(captured + kMade + kLaunched), 2U);
  EXPECT_EQ(accesses_behind(captured + kMade + "  may_sync\n" + kLaunched), 1U);
}

TEST(GraphLaunches, OfAGraphThatIsMadeOfAnotherAreNotKnown) {
  EXPECT_EQ(accesses_behind(kCaptured + kMade + "  fresh x\n" + kLaunched), 0U);
  EXPECT_EQ(accesses_behind(kCaptured + "  fresh g\n" + kMade + kLaunched), 0U);
  EXPECT_EQ(accesses_behind(kCaptured + "  fresh x\n" + kLaunched), 0U);
}

TEST(GraphLaunches, OfAGraphThatOtherCodeWasGivenAreNotKnown) {
  EXPECT_EQ(accesses_behind(kCaptured + kMade + "  escape x\n" + kLaunched), 0U);
  EXPECT_EQ(accesses_behind(kCaptured + kMade + kLaunched + "  escape x\n"), 2U);
}

TEST(GraphLaunches, AreNotKnownWhereSomeFunctionUpdatesGraphs) {
  EXPECT_EQ(accesses_behind(kCaptured + kMade + kLaunched, R"(
function update
  parameter any graph
  escape any work graph_launch
)"),
            0U);
}

TEST(GraphLaunches, OfAGraphThatWasThereBeforeAreNotKnown) {
  EXPECT_EQ(accesses_behind(kCaptured + kLaunched), 0U);
  EXPECT_EQ(accesses_behind(kMade + kCaptured + kLaunched), 0U);
}

TEST(GraphLaunches, OfOneOfTwoGraphsAreNotKnown) {
  EXPECT_EQ(accesses_behind(kCaptured + kCaptured + kMade + kLaunched), 0U);
}

TEST(GraphLaunches, WorkBeforeTheCaptureIsNoneOfIt) {
  EXPECT_EQ(accesses_behind("  enqueue kernel early on s reads q\n" + kCaptured + kMade + kLaunched), 2U);
}

TEST(GraphLaunches, WorkUnderAConditionIsLeftOut) {
  EXPECT_EQ(accesses_behind(R"(
bb0:
  capture_begin s
  enqueue kernel always on s writes p
  branch {c} bb1 bb2
bb1:
  enqueue kernel perhaps on s writes q
  goto bb2
bb2:
  capture_end s
  fresh g
)" + kMade + kLaunched),
            0U);
}

}  // namespace
}  // namespace streamsan::analyzer::ir
