// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the model is given of the graphs of programs, and of kernels (predict.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ordering/graph.h"
#include "testsuite/gpu/random/predict.h"

namespace streamsan::lab {

/// A graph as the judge lays it out: the bodies of a conditional node between its beginning and its end, one behind the
/// other.
struct FlatGraph {
  std::vector<ordering::GraphNode> nodes;
  /// What has a cell, and the node of the model that it is.
  struct Part {
    std::uint32_t node = 0;
    std::size_t cell = 0;
    std::size_t body = 0;    ///< the number of the graph, if it is a body
    std::size_t rounds = 1;  ///< how often a launch runs it
  };
  std::vector<Part> parts;
};

/// `held`: the cell that the launch holds.
FlatGraph flatten(const Program& program, std::size_t number, std::optional<std::size_t> held, Planted planted);

constexpr ordering::SiteId site_of(std::size_t cell) { return ordering::SiteId{static_cast<std::uint32_t>(cell + 1)}; }
/// `front`: the kernel in front, which the model takes to be the one that a dependent launch overlaps.
ordering::LaunchShape shape_of(const Work& work, const Work* front, std::size_t cell, Planted planted);

}  // namespace streamsan::lab
