// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of graphs: what a step of a stream touches when it is made of nodes. See graph.h.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "ordering/model_impl.h"

namespace streamsan::ordering {
namespace {

using Kind = GraphNode::Kind;

/// For each node the part of the step that it is in: 0 comes before the first record of an event, and so on.
std::vector<std::uint32_t> parts_of(const Graph& graph) {
  const std::vector<GraphNode>& nodes = graph.nodes;
  std::uint32_t records = 0;
  for (const GraphNode& node : nodes) records += node.kind == Kind::RecordEvent;
  std::vector<std::uint32_t> parts(nodes.size(), records);
  if (records == 0) return parts;
  std::uint32_t part = 0;
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
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

/// For each node the waits for events that it comes after, one bit each. The first kMostWaits waits have bits.
class Waits {
 public:
  explicit Waits(const Graph& graph) {
    const std::vector<GraphNode>& nodes = graph.nodes;
    if (std::none_of(nodes.begin(), nodes.end(), [](const GraphNode& n) { return n.kind == Kind::WaitEvent; })) return;
    masks_.resize(nodes.size());
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      for (const std::uint32_t before : nodes[i].after) masks_[i] |= masks_[before];
      if (nodes[i].kind != Kind::WaitEvent) continue;
      if (events_.size() < Graph::kMostWaits) {
        masks_[i] |= std::uint64_t{1} << events_.size();
        events_.push_back(nodes[i].event);
      } else {
        always_.push_back(nodes[i].event);
      }
    }
  }
  [[nodiscard]] std::uint64_t of(std::uint32_t node) const { return masks_.empty() ? 0 : masks_[node]; }
  [[nodiscard]] const std::vector<EventId>& events() const { return events_; }
  [[nodiscard]] const std::vector<EventId>& always() const { return always_; }

 private:
  std::vector<std::uint64_t> masks_;
  std::vector<EventId> events_;
  std::vector<EventId> always_;  ///< all nodes come after these
};

}  // namespace

void Model::Impl::touch_node(const GraphNode& node, Access access, const Actor& actor) {
  switch (node.kind) {
    case Kind::Kernel:
      access.source = AccessSource::Kernel;
      access.exact = false;
      access.learned = node.shape.learned;
      access.function = node.shape.function;
      access.device_threads = node.shape.threads;
      access.arguments_hash = node.shape.arguments_hash;
      touch_kernel(access, actor, node.pointers, node.bytes);
      return;
    case Kind::Copy:
      access.source = AccessSource::Copy;
      for (const auto& [side, mode] : {std::pair(&node.src, AccessMode::Read), {&node.dst, AccessMode::Write}}) {
        access.mode = mode;
        pieces.touch_footprint(*side, access, actor);
        if (side->base == 0 || lives.kind_at(side->base) != MemoryKind::Pageable) continue;
        access.range = hull(*side);
        access.moment = progress.moment;
        lives.loans.add({*side, {actor.lane, actor.epoch, access}});
      }
      return;
    case Kind::Fill:
      access.source = AccessSource::Fill;
      access.mode = AccessMode::Write;
      pieces.touch_footprint(node.dst, access, actor);
      return;
    default:
      return;
  }
}

OpId Model::graph_launch(Call call, StreamId stream, std::uint64_t exec) {
  Lane* lane = impl_->progress.lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->progress.begin(call, *lane, LegacyRole::Action);
  TwoClocks& last_launch = impl_->progress.graphs.at(exec);
  lane->clock.join(last_launch);
  last_launch = lane->clock;
  if (impl_->progress.variants) impl_->progress.mark_unbounded(*lane, op, call.site, Exposure::Why::Graph);
  return op;
}

OpId Model::graph_launch(Call call, StreamId stream, std::uint64_t exec, const Graph& graph) {
  const OpId op = graph_launch(call, stream, exec);
  Lane* const lane = impl_->progress.lane(stream);
  if (!lane || graph.nodes.empty()) return op;
  const std::vector<GraphNode>& nodes = graph.nodes;
  const auto captured = [&](EventId id) {
    const Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(id));
    return event && event->recorded ? event->captured : TwoClocks{};
  };
  if (std::any_of(nodes.begin(), nodes.end(), [](const GraphNode& n) { return n.kind == Kind::JoinsAll; })) {
    impl_->progress.contexts.join_everything(*lane);
    for (const HostClock& host : impl_->progress.hosts) lane->clock.join(host.clock);
  }
  const std::vector<std::uint32_t> parts = parts_of(graph);
  const Waits waits(graph);
  for (const EventId event : waits.always()) lane->clock.join(captured(event));
  // Which events these are is settled by the launch (R-GRF-31).
  std::vector<TwoClocks> awaited;
  for (const EventId event : waits.events()) awaited.push_back(captured(event));

  const HostClock& host = impl_->progress.host(call.thread);
  const auto clock_of = [&](std::uint32_t node) {
    TwoClocks clock = lane->clock;
    for (std::uint64_t rest = waits.of(node); rest != 0; rest &= rest - 1)
      clock.join(awaited[static_cast<std::size_t>(std::countr_zero(rest))]);
    return clock;
  };
  Access access{.op = op, .stream = stream, .thread = call.thread, .launched = call.site};
  const auto run = [&](std::uint32_t index) {
    const GraphNode& node = nodes[index];
    access.site = node.site;
    access.node = node.number;
    const Call by_node{call.thread, node.site};
    if (node.kind == Kind::RecordEvent) {
      Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(node.event));
      if (!event) return;
      event->recorded = true;
      event->captured = clock_of(index);
      event->source = stream;
      event->source_slot = lane->slot;
      event->record = {node.event, op, node.site, lane->last, lane->work};
      lane->history.recorded(event->record);
    } else if (node.kind == Kind::Allocate) {
      impl_->begin_life(by_node, *lane, op, node.memory, true);
    } else if (node.kind == Kind::Free) {
      access.mode = AccessMode::Write;
      access.source = AccessSource::Free;
      access.range = {node.memory.begin, node.memory.begin + 1};
      impl_->end_life(by_node, *lane, access, node.memory.begin);
    } else if (waits.of(index) != 0) {
      const TwoClocks clock = clock_of(index);
      impl_->touch_node(node, access, {lane->slot, lane->last, clock, host});
    } else {
      impl_->touch_node(node, access, {lane->slot, lane->last, lane->clock, host});
    }
  };
  const std::uint32_t last = *std::max_element(parts.begin(), parts.end());
  for (std::uint32_t part = 0; part <= last; ++part) {
    if (part != 0) lane->clock.set(lane->slot, ++lane->last);
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (parts[i] == part) run(i);
    }
  }
  for (const TwoClocks& clock : awaited) lane->clock.join(clock);
  impl_->progress.graphs.at(exec) = lane->clock;
  const bool host_code =
      std::any_of(nodes.begin(), nodes.end(), [](const auto& n) { return n.kind == Kind::HostFunction; });
  // As host_function() does.
  if (host_code) impl_->progress.signalled.join(lane->clock.assumed);
  return op;
}

}  // namespace streamsan::ordering
