// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ways and loops of a control flow graph that is given by the successors of each block, and where a path starts.
#include "analyzer/ir/walk.h"

#include <gtest/gtest.h>

namespace streamsan::analyzer::ir {
namespace {

using Edges = std::vector<std::pair<std::size_t, std::size_t>>;

Function graph(const std::vector<std::vector<std::uint32_t>>& successors) {
  Function function;
  for (const auto& of_block : successors) {
    Block& block = function.blocks.emplace_back();
    for (const std::uint32_t to : of_block) block.successors.push_back(static_cast<BlockId>(to));
  }
  return function;
}

TEST(Walk, AFunctionWithoutBlocksHasNoBackEdge) { EXPECT_TRUE(back_edges(Function{}).empty()); }

TEST(Walk, BranchesThatMeetAreNoLoop) {
  const Function diamond = graph({{1, 2}, {3}, {3}, {}});
  EXPECT_EQ(back_edges(diamond), Edges{});
  EXPECT_EQ(blocks_in_loops(diamond), (std::vector<bool>{false, false, false, false}));
}

TEST(Walk, ALoopHasOneForEachWayBackToItsHead) {
  // 1 is the head; 2 may continue, 3 ends the round.
  const Function loop = graph({{1}, {2, 4}, {1, 3}, {1}, {}});
  EXPECT_EQ(back_edges(loop), (Edges{{2, 1}, {3, 1}}));
  EXPECT_EQ(blocks_in_loops(loop), (std::vector<bool>{false, true, true, true, false}));
}

TEST(Walk, InnerLoopsAreFoundBeforeTheirOuterOnes) {
  const Function nested = graph({{1}, {2, 4}, {2, 3}, {1}, {}});
  EXPECT_EQ(back_edges(nested), (Edges{{2, 2}, {3, 1}}));
}

TEST(Walk, ALoopIsInOnePiece) {
  // Whichever way a branch says first: 4 and 5 follow the loop of 1, 2 and 3.
  const std::vector<std::uint32_t> order{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(loop_by_loop(graph({{1}, {2, 4}, {3}, {1}, {5}, {}})), order);
  EXPECT_EQ(loop_by_loop(graph({{1}, {4, 2}, {3}, {1}, {5}, {}})), order);
}

TEST(Walk, AnInnerLoopIsInOnePieceOfTheOuterOne) {
  // 2 and 3 are a loop in that of 1 to 4; 3 may leave both.
  EXPECT_EQ(loop_by_loop(graph({{1}, {5, 2}, {4, 3}, {5, 2}, {1}, {}})),
            (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Walk, WhatIsNotReachedHasNoPlaceInTheOrder) {
  EXPECT_EQ(loop_by_loop(graph({{2, 3}, {2}, {4}, {4}, {}})).size(), 4U);
}

TEST(Walk, WhatNothingLeadsToHasNone) {
  const Function dead = graph({{}, {1}});
  EXPECT_EQ(back_edges(dead), Edges{});
  EXPECT_EQ(blocks_in_loops(dead), (std::vector<bool>{false, true}));
}

TEST(Walk, BlocksOfInnerLoopsAreInLoops) {
  // 2 and 3 in 1 to 4; 6 and 7 are reached from nowhere.
  EXPECT_EQ(blocks_in_loops(graph({{1}, {5, 2}, {4, 3}, {2}, {1}, {}, {7, 5}, {6}})),
            (std::vector<bool>{false, true, true, true, true, false, true, true}));
}

TEST(Walk, APathIsAPartOfTheVariableThatItIsSpelledFrom) {
  Function function;
  const PlaceId p = function.add(Place{.type = TypeKind::Pointer, .name = "p"});
  const PlaceId target = function.add(Place{.kind = Place::Kind::Deref, .base = p});
  const PlaceId field = function.add(Place{.kind = Place::Kind::Field, .name = "x", .owner = "S", .base = target});
  const PlaceId element = function.add(Place{.kind = Place::Kind::Index, .base = target});
  const PlaceId pointee = function.add(Place{.kind = Place::Kind::Deref, .base = field});
  EXPECT_EQ(first_of(function, field), p) << function.spell(field);
  EXPECT_EQ(first_of(function, p), kNoPlace) << "the whole";
  EXPECT_EQ(first_of(function, target), kNoPlace) << function.spell(target);
  EXPECT_EQ(first_of(function, element), kNoPlace) << function.spell(element);
  EXPECT_EQ(first_of(function, pointee), kNoPlace) << function.spell(pointee);
}

TEST(Walk, TheTwoDirections) {
  // 1 to 3 is a loop, 5 is beside the way from 0 to 4.
  const Function function = graph({{1, 5}, {2, 4}, {3}, {1}, {}, {}});
  EXPECT_EQ(reached_behind(function, 2), (std::vector<bool>{false, true, true, true, true, false}));
  EXPECT_EQ(leading_before(function, 2), (std::vector<bool>{true, true, true, true, false, false}));
  EXPECT_EQ(leading_before(function, 4), (std::vector<bool>{true, true, true, true, false, false}));
  EXPECT_EQ(leading_before(function, 5), (std::vector<bool>{true, false, false, false, false, false}));
}

TEST(Walk, WhatLeadsToSeveralBlocksGoesOnlyWhereItMay) {
  const Function diamond = graph({{1, 2}, {3}, {3}, {}});
  const std::vector<bool> end{false, false, false, true};
  EXPECT_EQ(leading_to(diamond, end, [](std::size_t from, std::size_t) { return from != 2; }),
            (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(leading_to(diamond, end, [](std::size_t from, std::size_t to) { return from != 0 || to != 1; }),
            (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(leading_to(diamond, end, [](std::size_t, std::size_t to) { return to != 3; }), end);
}

TEST(Root, APathThatAPointerLeadsIsNoPartOfTheVariable) {
  Function function;
  const auto add = [&](Place::Kind kind, TypeKind type, PlaceId base) {
    function.places.push_back({.kind = kind, .type = type, .base = base});
    return static_cast<PlaceId>(function.places.size() - 1);
  };
  const PlaceId pointer = add(Place::Kind::Local, TypeKind::Pointer, kNoPlace);
  const PlaceId array = add(Place::Kind::Local, TypeKind::Other, kNoPlace);
  for (const auto& [path, through] :
       {std::pair(pointer, false), std::pair(add(Place::Kind::Deref, TypeKind::Other, pointer), true),
        std::pair(add(Place::Kind::Index, TypeKind::Other, pointer), true),
        std::pair(add(Place::Kind::Index, TypeKind::Pointer, array), false)}) {
    EXPECT_EQ(root(function, path).through_pointer, through) << static_cast<int>(path);
    EXPECT_EQ(root(function, path).place, path == pointer || through ? pointer : array);
  }
}

}  // namespace
}  // namespace streamsan::analyzer::ir
