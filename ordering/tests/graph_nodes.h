// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs for tests of the model, node by node, and what is found between two nodes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ordering/graph.h"
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {

class GraphTest : public ModelTest {
 protected:
  using After = std::vector<std::uint32_t>;  ///< indices of nodes
  using Kind = GraphNode::Kind;

  static GraphNode node(Kind kind, After after = {}) { return {.kind = kind, .after = std::move(after)}; }
  static GraphNode writes(Address base, After after = {}) {
    GraphNode made = node(Kind::Fill, std::move(after));
    made.dst = bytes(base);
    return made;
  }
  static GraphNode reads(Address base, After after = {}) {
    GraphNode made = node(Kind::Copy, std::move(after));
    made.dst = array();
    made.src = bytes(base);
    return made;
  }
  /// Numbered from 1.
  static Graph graph(std::vector<GraphNode> nodes) {
    std::uint32_t number = 0;
    for (GraphNode& each : nodes) each.number = ++number;
    return Graph(std::move(nodes));
  }

  /// The graph by itself.
  void inside(std::vector<GraphNode> nodes) { check_graph(graph(std::move(nodes)), model, recorder); }
  /// One hazard between these nodes.
  bool between(std::uint32_t earlier, std::uint32_t later, HazardKind kind, Certainty certainty = Certainty::Certain) {
    const std::vector<Hazard> hazards = found();
    return hazards.size() == 1 && hazards[0].kind == kind && hazards[0].earlier.node == earlier &&
           hazards[0].later.node == later && hazards[0].certainty == certainty;
  }
};

}  // namespace streamsan::ordering::testing
