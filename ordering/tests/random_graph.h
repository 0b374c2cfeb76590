// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random graphs for random programs: kernels, copies, fills, host functions, memory, events recorded and waited for,
// nodes that do nothing, conditional nodes with up to three bodies, which may hold another one, and edges.
//
// Left out, because the model knowingly gives them more order than they have (graph.h): two records that are not
// ordered among themselves, nodes behind different waits, and nodes beside a record that may be behind a wait.
// Programmatic edges are tested by themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ordering/graph.h"

namespace streamsan::ordering::testing {

/// What the program has that a graph can use.
struct Surroundings {
  std::function<Footprint(std::uint8_t object, std::uint8_t place, std::uint8_t shape)> footprint;
  std::function<PointerArgument(std::uint8_t bits)> pointer;
  std::vector<EventId> events;
  SiteId site{};
  bool exact_only = false;
};

Graph random_graph(std::uint64_t seed, const Surroundings& around);
/// One node of it does something else from now on, or nothing.
Graph with_another_node(const Graph& graph, std::uint64_t seed, const Surroundings& around);

}  // namespace streamsan::ordering::testing
