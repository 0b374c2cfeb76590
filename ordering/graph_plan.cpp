// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launch of a graph does in which order. See graph.h.
#include <algorithm>
#include <bit>
#include <utility>

#include "ordering/graph.h"

namespace streamsan::ordering {
namespace {

using Kind = GraphNode::Kind;

/// For each node the part of the step that it is in.
std::vector<std::uint32_t> parts_of(const std::vector<GraphNode>& nodes, std::uint32_t records) {
  std::vector<std::uint32_t> parts(nodes.size(), records);
  std::uint32_t part = 0;
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < nodes.size() && part < records; ++i) {
    if (nodes[i].kind != Kind::RecordEvent) continue;
    open.assign(1, i);
    while (!open.empty()) {
      const std::uint32_t node = open.back();
      open.pop_back();
      // What is in an earlier part has all that comes before it there.
      if (parts[node] < records) continue;
      parts[node] = part;
      open.insert(open.end(), nodes[node].after.begin(), nodes[node].after.end());
    }
    ++part;
  }
  return parts;
}

/// For each node the waits for events that it comes after. The events go to the plan.
std::vector<std::uint64_t> waits_of(const std::vector<GraphNode>& nodes, LaunchPlan& plan) {
  std::vector<std::uint64_t> waits(nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint32_t before : nodes[i].after) waits[i] |= waits[before];
    if (nodes[i].kind != Kind::WaitEvent) continue;
    if (plan.events.size() < Graph::kMostWaits) {
      waits[i] |= std::uint64_t{1} << plan.events.size();
      plan.events.push_back(nodes[i].event);
    } else {
      plan.always.push_back(nodes[i].event);
    }
  }
  return waits;
}

bool is_step(Kind kind) {
  switch (kind) {
    case Kind::Kernel:
    case Kind::Copy:
    case Kind::Fill:
    case Kind::RecordEvent:
    case Kind::Allocate:
    case Kind::Free:
      return true;
    case Kind::Nothing:
    case Kind::HostFunction:
    case Kind::WaitEvent:
    case Kind::JoinsAll:
      return false;
  }
  return false;
}

}  // namespace

Graph::Graph(std::vector<GraphNode> nodes) : nodes_(std::move(nodes)) {
  for (const GraphNode& node : nodes_) {
    if (node.kind == Kind::RecordEvent) plan_.records.push_back(node.event);
    plan_.joins_all |= node.kind == Kind::JoinsAll;
    plan_.host_code |= node.kind == Kind::HostFunction;
  }
  const std::vector<std::uint32_t> parts = parts_of(nodes_, static_cast<std::uint32_t>(plan_.records.size()));
  const std::vector<std::uint64_t> waits = waits_of(nodes_, plan_);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    plan_.parts = std::max(plan_.parts, parts[i] + 1);
    if (is_step(nodes_[i].kind)) plan_.steps.push_back({i, parts[i], waits[i]});
  }
  // Within a part those come first that wait for less: an access that has waited stands for those that it waited for,
  // and one that has not must still meet them.
  std::stable_sort(plan_.steps.begin(), plan_.steps.end(), [](const LaunchPlan::Step& a, const LaunchPlan::Step& b) {
    return std::pair(a.part, std::popcount(a.waits)) < std::pair(b.part, std::popcount(b.waits));
  });
}

}  // namespace streamsan::ordering
