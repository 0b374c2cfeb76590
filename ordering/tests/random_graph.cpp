// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ordering/tests/random_graph.h"

#include <optional>
#include <random>
#include <utility>

namespace streamsan::ordering::testing {
namespace {

using Kind = GraphNode::Kind;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15ull + 7) {}
  std::uint8_t below(std::uint64_t n) { return static_cast<std::uint8_t>(random_() % n); }
  std::uint8_t byte() { return below(256); }

 private:
  std::mt19937_64 random_;
};

constexpr Range kMemoryOfGraphs{0x60000, 0x60000 + 512};

/// A node that uses memory, or does nothing.
void give_work(GraphNode& node, Dice& dice, const Surroundings& around) {
  constexpr AccessMode modes[] = {AccessMode::Read, AccessMode::Write, AccessMode::Atomic};
  constexpr Kind kinds[] = {Kind::Kernel, Kind::Kernel, Kind::Copy, Kind::Fill, Kind::Nothing, Kind::HostFunction};
  node.kind = kinds[dice.below(6)];
  const auto footprint = [&] { return around.footprint(dice.byte(), dice.byte(), dice.byte()); };
  const auto own_memory = [&](Footprint& bytes) {
    if (dice.below(6) == 0) bytes = {kMemoryOfGraphs.begin, 128, 128, 1};
  };
  if (node.kind == Kind::Kernel) {
    node.shape = {.function = FunctionId{dice.below(3)},
                  .threads = std::uint64_t{1} << (dice.below(4) * 5),
                  .arguments_hash = dice.below(2),
                  .atomic_for_host = dice.below(2) == 0,
                  .signalled = dice.below(8) == 0,
                  .learned = dice.below(4) == 0};
    for (unsigned i = 1 + dice.below(2); i > 0; --i) {
      node.bytes.push_back({.bytes = footprint(), .mode = modes[dice.below(3)], .widened = dice.below(8) == 0});
      node.bytes.back().signals = node.bytes.back().mode == AccessMode::Write && dice.below(4) == 0;
      own_memory(node.bytes.back().bytes);
    }
    if (!around.exact_only && dice.below(4) == 0) node.pointers.push_back(around.pointer(dice.byte()));
  }
  if (node.kind == Kind::Copy) {
    const std::uint8_t shape = dice.byte();
    node.src = around.footprint(dice.byte(), dice.byte(), shape);
    node.dst = around.footprint(dice.byte(), dice.byte(), shape);
  }
  if (node.kind == Kind::Fill) {
    node.dst = footprint();
    own_memory(node.dst);
  }
}

/// The bodies of a conditional node behind the last node, and its end: as the judge lays them out.
class Bodies {
 public:
  Bodies(std::vector<GraphNode>& nodes, Dice& dice, const Surroundings& around)
      : nodes_(nodes), dice_(dice), around_(around) {}

  /// The end of the node whose beginning is `front`.
  std::uint32_t add(std::uint32_t front, bool nested) {
    for (unsigned bodies = 1 + dice_.below(nested ? 2 : 3); bodies > 0; --bodies) front = add_body(front, nested);
    return front;
  }

 private:
  std::uint32_t add_body(std::uint32_t front, bool nested) {
    std::vector<std::uint32_t> inside;
    for (unsigned i = 1 + dice_.below(2); i > 0; --i) {
      std::uint32_t made = add_node({front});
      if (!inside.empty() && dice_.below(2) == 0) nodes_.back().after.push_back(inside.front());
      nodes_.back().conditional = true;
      if (!nested && dice_.below(6) == 0) {
        made = add(made, true);
        nodes_.back().conditional = true;
      } else {
        give_work(nodes_.back(), dice_, around_);
      }
      inside.push_back(made);
    }
    return add_node(inside);
  }

  std::uint32_t add_node(std::vector<std::uint32_t> after) {
    GraphNode& node = nodes_.emplace_back();
    node.site = around_.site;
    node.number = static_cast<std::uint32_t>(nodes_.size());
    node.after = std::move(after);
    return node.number - 1;
  }

  std::vector<GraphNode>& nodes_;
  Dice& dice_;
  const Surroundings& around_;
};

/// Those who are named in `after` twice are harmless.
void add_all(GraphNode& node, std::size_t count) {
  for (std::uint32_t i = 0; i < count; ++i) node.after.push_back(i);
}

}  // namespace

Graph random_graph(std::uint64_t seed, const Surroundings& around) {
  Dice dice(seed);
  std::vector<GraphNode> nodes;
  const auto add = [&]() -> GraphNode& {
    GraphNode& node = nodes.emplace_back();
    node.site = around.site;
    node.number = static_cast<std::uint32_t>(nodes.size());
    return node;
  };
  const bool has_memory = dice.below(4) == 0;
  if (has_memory) {
    add().kind = Kind::Allocate;
    nodes.back().memory = kMemoryOfGraphs;
  }
  std::optional<std::uint32_t> last_record, divides;
  bool waits = false;
  for (unsigned i = 1 + dice.below(7); i > 0; --i) {
    GraphNode& node = add();
    const auto index = static_cast<std::uint32_t>(nodes.size() - 1);
    for (std::uint32_t before = 0; before < index; ++before) {
      if (dice.below(3) == 0) node.after.push_back(before);
    }
    if (node.after.empty() && has_memory) node.after.push_back(0);
    if (divides) node.after.push_back(*divides);
    give_work(node, dice, around);
    if (!around.events.empty() && dice.below(8) == 0) {
      node.kind = Kind::RecordEvent;
      node.event = around.events[dice.byte() % around.events.size()];
      if (last_record) node.after.push_back(*last_record);
      if (waits) {
        add_all(node, index);
        divides = index;
      }
      last_record = index;
    } else if (!around.events.empty() && !waits && dice.below(8) == 0) {
      node.kind = Kind::WaitEvent;
      node.event = around.events[dice.byte() % around.events.size()];
      waits = true;
    } else if (dice.below(64) == 0) {
      node.kind = Kind::JoinsAll;
    } else if (dice.below(8) == 0) {
      Bodies(nodes, dice, around).add(index, false);
    }
  }
  if (has_memory && dice.below(3) != 0) {
    GraphNode& node = add();
    node.kind = Kind::Free;
    node.memory = kMemoryOfGraphs;
    add_all(node, nodes.size() - 1);
  }
  return Graph(std::move(nodes));
}

Graph with_another_node(const Graph& graph, std::uint64_t seed, const Surroundings& around) {
  Dice dice(seed);
  std::vector<GraphNode> nodes = graph.nodes();
  GraphNode& node = nodes[dice.byte() % nodes.size()];
  const bool uses = node.kind == Kind::Kernel || node.kind == Kind::Copy || node.kind == Kind::Fill ||
                    node.kind == Kind::Nothing || node.kind == Kind::HostFunction;
  if (!uses) return graph;
  node.pointers.clear();
  node.bytes.clear();
  node.src = node.dst = {};
  give_work(node, dice, around);
  return Graph(std::move(nodes));
}

}  // namespace streamsan::ordering::testing
