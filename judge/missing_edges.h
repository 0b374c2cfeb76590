// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which hazards one missing edge would repair.
//
// A forgotten wait shows as many races: each operation behind the place where it is missing races with each operation
// before it. A reader wants to know of one mistake and its repair, and of the places as a list.
//
// THE QUESTION. An edge from stream A to stream B that is added at one moment of the run orders all that A was given
// before that moment before all that B is given after it. So a hazard is an interval, from the moment at which the
// earlier access was submitted to that of the later one, and one edge repairs a set of hazards if their intervals have
// a moment in common. The fewest such moments for given intervals are found by the well-known greedy way: take the
// interval that ends first, put the edge right before its end, and remove all that it repairs.
//
// Only hazards that a reader would explain in the same way are put together: of the same two streams (or of a stream
// and the host), submitted by the same host threads, with the same nearest edge. Then one repair, worded for the last
// of the earlier accesses and the first of the later ones, repairs all.
//
// Not put together: what no wait repairs (a use after the free, or a block's return to its pool, which has to know of
// the stream), what is repaired in a kernel, in a launch or in a graph, and an access by the host that comes first,
// since nothing waits for the host.
//
// A hazard in a loop is kept once, with the moments of its first turn. So the answer holds for first turns; the places
// in the program are the same in every turn.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "judge/hazards.h"

namespace streamsan::judge {

struct MissingEdge {
  std::vector<std::size_t> repairs;  ///< indices of hazards, at least two, in the order given
  std::size_t last_earlier = 0;      ///< index of the hazard whose earlier access was submitted last
  std::size_t first_later = 0;       ///< index of the hazard whose later access was submitted first
};

/// In the order of the first hazard of each. No hazard is in two.
std::vector<MissingEdge> missing_edges(std::span<const KeptHazard* const> hazards);

}  // namespace streamsan::judge
