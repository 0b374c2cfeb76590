// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of graphs: what a step of a stream touches when it is made of nodes. See graph.h.
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "ordering/model_impl.h"

namespace streamsan::ordering {
void Model::Impl::touch_node(const GraphNode& node, Access access, const Actor& actor) {
  switch (node.kind) {
    case GraphNode::Kind::Kernel:
      by_kernel(access, node.shape);
      touch_kernel(access, node.shape.learned, actor, node.pointers, node.bytes);
      return;
    case GraphNode::Kind::Copy:
      access.source = AccessSource::Copy;
      for (const auto& [side, mode] : {std::pair(&node.src, AccessMode::Read), {&node.dst, AccessMode::Write}}) {
        access.mode = mode;
        pieces.touch_footprint(*side, access, actor);
        if (side->base != 0 && lives.kind_at(side->base) == MemoryKind::Pageable) lend(*side, access, actor);
      }
      return;
    case GraphNode::Kind::Fill:
      access.source = AccessSource::Fill;
      access.mode = AccessMode::Write;
      pieces.touch_footprint(node.dst, access, actor);
      return;
    default:
      return;
  }
}

void Model::graph_made(std::uint64_t exec) { impl_->graphs_made[exec] = ++impl_->lives.graphs; }

OpId Model::conditional_node(Call call, StreamId stream, const GraphNode& node) {
  Lane* const lane = impl_->progress.lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->progress.begin(call, *lane, LegacyRole::Action);
  const Access access{.op = op, .site = call.site, .stream = stream, .thread = call.thread, .conditional = true};
  impl_->touch_node(node, access, {lane->slot, lane->last, lane->clock, impl_->progress.host(call.thread)});
  return op;
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
  const LaunchPlan& plan = graph.plan();
  if (!lane || graph.nodes().empty()) return op;
  const auto captured = [&](EventId id) {
    const Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(id));
    return event && event->recorded ? event->captured : TwoClocks{};
  };
  if (plan.joins_all) {
    impl_->progress.contexts.join_everything(*lane);
    for (const HostClock& host : impl_->progress.hosts) lane->clock.join(host.clock);
  }
  for (const EventId event : plan.always) lane->clock.join(captured(event));
  // Which events these are is settled by the launch (R-GRF-31).
  std::vector<TwoClocks> awaited;
  for (const EventId event : plan.events) awaited.push_back(captured(event));

  const GraphCount* made = impl_->lives.freed_blocks.empty() ? nullptr : impl_->graphs_made.find(exec);
  const HostClock& host = impl_->progress.host(call.thread);
  Access access{.op = op, .stream = stream, .thread = call.thread, .launched = call.site};
  // Of nodes with waits: neighbours mostly have the same.
  std::uint64_t waits = 0;
  std::uint32_t part = 0;
  TwoClocks behind_waits;
  for (const LaunchPlan::Step& step : plan.steps) {
    for (; part < step.part; ++part) {
      lane->clock.set(lane->slot, ++lane->last);
      waits = 0;
    }
    if (step.waits != waits) {
      waits = step.waits;
      behind_waits = lane->clock;
      for (std::uint64_t rest = waits; rest != 0; rest &= rest - 1)
        behind_waits.join(awaited[static_cast<std::size_t>(std::countr_zero(rest))]);
    }
    const TwoClocks& clock = waits == 0 ? lane->clock : behind_waits;
    const GraphNode& node = graph.nodes()[step.node];
    access.site = node.site;
    access.node = node.number;
    access.conditional = node.conditional;
    const Call by_node{call.thread, node.site};
    if (node.kind == GraphNode::Kind::RecordEvent) {
      Event* event = impl_->progress.events.find(static_cast<std::uint64_t>(node.event));
      if (!event) continue;
      event->recorded = true;
      event->captured = clock;
      event->source = stream;
      event->source_slot = lane->slot;
      event->record = {node.event, op, node.site, lane->last, lane->work};
      lane->history.recorded(event->record);
    } else if (node.kind == GraphNode::Kind::Allocate) {
      impl_->begin_life(by_node, *lane, op, node.memory, true);
    } else if (node.kind == GraphNode::Kind::Free) {
      access.mode = AccessMode::Write;
      access.source = AccessSource::Free;
      access.range = {node.memory.begin, node.memory.begin + 1};
      impl_->end_life(access, {lane->slot, lane->last, clock, host}, node.memory.begin);
    } else {
      Actor actor{lane->slot, lane->last, clock, host};
      if (made) actor.graph_made = *made;
      impl_->touch_node(node, access, actor);
    }
  }
  for (; part + 1 < plan.parts; ++part) lane->clock.set(lane->slot, ++lane->last);
  for (const TwoClocks& clock : awaited) lane->clock.join(clock);
  impl_->progress.graphs.at(exec) = lane->clock;
  // As host_function() does.
  if (plan.host_code) impl_->progress.may_signal(*lane);
  return op;
}

}  // namespace streamsan::ordering
