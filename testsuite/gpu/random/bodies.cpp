// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What conditional nodes run, and what is held.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "testsuite/gpu/random/program.h"

namespace streamsan::lab {
namespace {

/// The held node of the graph, or of a body that it runs.
std::optional<std::size_t> held_cell(const Program& program, std::size_t graph) {
  const std::vector<Node>& nodes = program.graphs[graph].nodes;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].work.held) return cell_of_node(graph, n);
    const std::vector<std::uint8_t>& bodies = nodes[n].condition.bodies;
    for (std::size_t body = 0; body < bodies.size(); ++body) {
      if (rounds_of(nodes[n], body) == 0) continue;
      if (const auto cell = held_cell(program, bodies[body])) return cell;
    }
  }
  return std::nullopt;
}

[[noreturn]] void fail(const std::string& why) { throw std::runtime_error("program: " + why); }

}  // namespace

unsigned rounds_of(const Node& node, std::size_t body) {
  const unsigned value = node.condition.value;
  switch (node.work.op) {
    case Op::If:
      return (value != 0) == (body == 0);
    case Op::While:
      return value;
    default:
      return value == body;
  }
}

bool is_body(const Program& program, std::size_t graph) {
  for (const Graph& each : program.graphs) {
    for (const Node& node : each.nodes) {
      const std::vector<std::uint8_t>& bodies = node.condition.bodies;
      if (std::find(bodies.begin(), bodies.end(), graph) != bodies.end()) return true;
    }
  }
  return false;
}

std::optional<Held> held_of(const Program& program) {
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (step.work.held) return Held{.cell = cell_of_step(i), .step = i};
    if (step.work.op != Op::Launch || step.object >= program.graphs.size()) continue;
    if (const auto cell = held_cell(program, step.object)) return Held{*cell, i, step.object};
  }
  return std::nullopt;
}

void check_bodies(const Program& program) {
  std::vector<bool> named(program.graphs.size());
  for (const Graph& graph : program.graphs) {
    for (const Node& node : graph.nodes) {
      const std::vector<std::uint8_t>& bodies = node.condition.bodies;
      if (!is_conditional(node.work.op)) continue;
      const std::size_t most = node.work.op == Op::While ? 1 : node.work.op == Op::If ? 2 : kMostGraphs;
      if (bodies.empty() || bodies.size() > most) fail("a conditional node with too many bodies, or none");
      if (node.work.op == Op::If && node.condition.value > 1) fail("an IF is 0 or 1");
      for (const unsigned body : bodies) {
        if (body >= program.graphs.size() || named[body]) fail("a body that is not there, or that has two nodes");
        named[body] = true;
        for (const Node& inside : program.graphs[body].nodes) {
          const Op op = inside.work.op;
          const bool of_memory = op == Op::Copy && inside.work.route <= Route::Within;
          if (op != Op::Kernel && op != Op::Fill && op != Op::Empty && !of_memory)
            fail("a body cannot hold such a node");
          if (inside.work.dependent) fail("an edge in a body is an ordinary one");
        }
      }
    }
  }
  for (const Step& step : program.steps) {
    if (step.work.op == Op::Launch && step.object < named.size() && named[step.object]) fail("a body is launched");
  }
}

}  // namespace streamsan::lab
