// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the timeline remembers of lanes, edges and buffers. See timeline.h.
//
// An allocation's life has one index however often it is met. Blocks of a program's pools come before the memory that
// holds them: they are what a finding about a block names.
#include <algorithm>

#include "judge/timeline.h"

namespace streamsan::judge {

using ordering::StreamKind;
using report::EdgeKind;

std::uint32_t Timeline::thread_lane(std::uint16_t thread) {
  std::uint32_t& lane = thread_lanes_[thread];
  if (lane == 0) {
    threads_.push_back(thread);
    lane = static_cast<std::uint32_t>(threads_.size());
  }
  return lane - 1;
}

std::uint32_t Timeline::stream_lane(ordering::StreamId stream) {
  std::uint32_t& lane = stream_lanes_[static_cast<std::uint64_t>(stream)];
  if (lane == 0) {
    StreamLane& fresh = streams_.emplace_back();
    if (const StreamLife* life = judge_.handles().life(stream)) fresh.life = *life;
    lane = static_cast<std::uint32_t>(streams_.size());
  }
  return kStreams + lane - 1;
}

void Timeline::edge(Seq from, Seq to, EdgeKind kind) {
  if (from != 0) edges_.push_back({from, to, kind});
}

/// The operation is the last one of its stream now.
void Timeline::submitted(const Op& op, bool action) {
  const std::uint32_t index = op.lane - kStreams;
  StreamLane& lane = streams_[index];
  Context& context = contexts_[static_cast<std::uint64_t>(lane.life.context)];
  lane.last = op.seq;
  if (!lane.since_sync) {
    lane.since_sync = true;
    context.since_sync.push_back(index);
  }
  if (lane.life.kind == StreamKind::Legacy) {
    if (!action) return;
    for (std::uint32_t other : context.since_legacy) {
      edge(streams_[other].last, op.seq, EdgeKind::Barrier);
      streams_[other].since_legacy = false;
    }
    context.since_legacy.clear();
    context.legacy = op.seq;
  } else if (lane.life.kind != StreamKind::NonBlocking) {
    if (lane.barrier != context.legacy) edge(context.legacy, op.seq, EdgeKind::Barrier);
    lane.barrier = context.legacy;
    if (!lane.since_legacy) {
      lane.since_legacy = true;
      context.since_legacy.push_back(index);
    }
  }
}

std::vector<Timeline::Seq> Timeline::last_of(std::uint32_t lane) {
  const StreamLane& stream = streams_[lane - kStreams];
  std::vector<Seq> result{stream.last};
  if (stream.life.kind != StreamKind::Legacy) return result;
  // What waits for the legacy stream waits for all that a barrier there would.
  for (std::uint32_t other : contexts_[static_cast<std::uint64_t>(stream.life.context)].since_legacy) {
    if (result.size() <= kMostEdgesOfSync) result.push_back(streams_[other].last);
  }
  return result;
}

void Timeline::waited_for(Seq host, std::uint32_t lane) {
  for (const Seq last : last_of(lane)) edge(last, host, EdgeKind::Sync);
}

void Timeline::waited_for_all(Seq host, ordering::ContextId context) {
  std::vector<std::uint32_t>& lanes = contexts_[static_cast<std::uint64_t>(context)].since_sync;
  std::uint32_t drawn = 0;
  for (std::uint32_t index : lanes) {
    StreamLane& stream = streams_[index];
    if (stream.since_sync && drawn++ < kMostEdgesOfSync) edge(stream.last, host, EdgeKind::Sync);
    stream.since_sync = false;
  }
  lanes.clear();
}

/// Index + 1; 0: there are too many.
std::uint32_t Timeline::buffer_of(const ordering::AllocationInfo& info) {
  std::uint32_t& index = buffer_by_id_[static_cast<std::uint64_t>(info.id)];
  if (index == 0 && buffers_.size() < kMostBuffers) {
    buffers_.push_back({info.range, info.kind, info.site});
    index = static_cast<std::uint32_t>(buffers_.size());
    buffer_at_[info.range.begin] = index;
  }
  return index;
}

void Timeline::touch(Op& op, std::uint32_t buffer, bool reads, bool writes) {
  for (report::ViewTouch& known : op.touches) {
    if (known.buffer != buffer) continue;
    known.reads |= reads;
    known.writes |= writes;
    return;
  }
  if (op.touches.size() < kTouches) op.touches.push_back({buffer, reads, writes});
}

void Timeline::touch(Op& op, ordering::Address address, bool reads, bool writes) {
  if (address == 0) return;
  if (auto block = blocks_.upper_bound(address); block != blocks_.begin()) {
    --block;
    if (address < block->second.end) return touch(op, block->second.buffer, reads, writes);
  }
  const ordering::AllocationInfo* info = judge_.model().find_allocation(address);
  if (!info || info->kind == ordering::MemoryKind::Pageable) return;
  if (const std::uint32_t buffer = buffer_of(*info)) touch(op, buffer - 1, reads, writes);
}

}  // namespace streamsan::judge
