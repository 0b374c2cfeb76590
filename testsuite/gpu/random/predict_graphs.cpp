// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/predict_graphs.h"

#include <tuple>
#include <utility>

#include "testsuite/gpu/random/predict_memory.h"

namespace streamsan::lab {
namespace {

class Flattening {
 public:
  Flattening(const Program& program, std::optional<std::size_t> held, Planted planted)
      : program_(program), held_(held), planted_(planted) {}

  FlatGraph make(std::size_t number) {
    const std::vector<Node>& nodes = program_.graphs[number].nodes;
    std::vector<std::uint32_t> ends;  // of the nodes
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const Node& node = nodes[n];
      std::vector<std::uint32_t> after;
      for (const unsigned before : node.after) after.push_back(ends[before]);
      if (!is_conditional(node.work.op)) {
        const Work* front = node.after.size() == 1 && node.work.dependent ? &nodes[node.after[0]].work : nullptr;
        ends.push_back(add({.cell = cell_of_node(number, n)}, node.work, front, std::move(after)));
        continue;
      }
      if (planted_ == Planted::ConditionsWaitForAll) after = ends;
      ends.push_back(add({.after = std::move(after)}));
      for (std::size_t body = 0; body < node.condition.bodies.size(); ++body)
        ends.back() = add_body(node.condition.bodies[body], rounds_of(node, body), ends.back());
    }
    return std::move(out_);
  }

 private:
  /// Its end.
  std::uint32_t add_body(std::size_t number, std::size_t rounds, std::uint32_t front) {
    const std::vector<Node>& nodes = program_.graphs[number].nodes;
    std::vector<std::uint32_t> all;
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      std::vector<std::uint32_t> after{front};
      for (const unsigned before : nodes[n].after) after.push_back(all[before]);
      const FlatGraph::Part part{.cell = cell_of_node(number, n), .body = number, .rounds = rounds};
      all.push_back(add(part, nodes[n].work, nullptr, std::move(after)));
      out_.nodes.back().conditional = true;
    }
    return add({.after = std::move(all)});
  }

  std::uint32_t add(FlatGraph::Part part, const Work& work, const Work* front, std::vector<std::uint32_t> after) {
    ordering::GraphNode node{.site = site_of(part.cell), .after = std::move(after)};
    using Kind = ordering::GraphNode::Kind;
    switch (work.op) {
      case Op::Kernel:
      case Op::Host:
        node.kind = Kind::Kernel;
        node.shape = shape_of(work, front, part.cell, planted_);
        node.shape.dependence.overlaps &= front != nullptr;
        node.bytes = held_ == part.cell ? memory::bytes_of_held() : memory::bytes_of_kernel(part.cell, 0);
        break;
      case Op::Copy:
        node.kind = Kind::Copy;
        std::tie(node.dst, node.src) = memory::bytes_of_copy(work, part.cell, 0);
        break;
      case Op::Fill:
        node.kind = Kind::Fill;
        node.dst = memory::bytes_of_fill(work, part.cell, 0);
        break;
      default:
        break;
    }
    part.node = add(std::move(node));
    out_.parts.push_back(part);
    return part.node;
  }

  std::uint32_t add(ordering::GraphNode node) {
    node.number = static_cast<std::uint32_t>(out_.nodes.size() + 1);
    out_.nodes.push_back(std::move(node));
    return out_.nodes.back().number - 1;
  }

  const Program& program_;
  std::optional<std::size_t> held_;
  Planted planted_;
  FlatGraph out_;
};

}  // namespace

FlatGraph flatten(const Program& program, std::size_t number, std::optional<std::size_t> held, Planted planted) {
  return Flattening(program, held, planted).make(number);
}

ordering::LaunchShape shape_of(const Work& work, const Work* front, std::size_t cell, Planted planted) {
  ordering::LaunchShape shape{.function = ordering::FunctionId{static_cast<std::uint32_t>(cell + 1)}, .threads = 1};
  if (!work.dependent || planted == Planted::DependentsAreOrdinary) return shape;
  const Triggers triggers = front ? front->triggers : Triggers::Never;
  shape.dependence = {.overlaps = true,
                      .waits = work.waits,
                      .front = triggers == Triggers::Never ? ordering::Trigger::Never : ordering::Trigger::Early,
                      .front_waits_first = front && front->waits && triggers != Triggers::First};
  return shape;
}

}  // namespace streamsan::lab
