// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creating and destroying streams and events.
//
// Destroying either is no synchronisation (R-STR-30, R-EVT-11): a stream's pending work stays in the gathered clocks of
// its context, so that a later legacy action or context synchronisation still covers it (R-STR-20), and waits already
// enqueued have taken what they need from an event.
#include "ordering/model_impl.h"

namespace streamsan::ordering {

StreamId Model::Impl::open_stream(ContextId context, StreamKind kind, ThreadId thread_id) {
  const std::uint32_t index = contexts.index_of(context);
  Lane& lane = lanes.open(joined() && !hosts.empty() ? hosts.front().clock.documented : VectorClock{});
  lane.is_stream = true;
  lane.kind = kind;
  lane.context = index;
  lane.thread = thread_id;
  lane.stream = StreamId{++last_stream};
  streams[last_stream] = lane.slot;
  if (kind == StreamKind::Legacy) contexts[index].legacy = lane.slot;
  return lane.stream;
}

StreamId Model::create_stream(ContextId context, StreamKind kind) {
  return impl_->open_stream(context, kind, ThreadId{});
}

StreamId Model::legacy_stream(ContextId context) {
  const LaneSlot slot = impl_->contexts[impl_->contexts.index_of(context)].legacy;
  if (slot != Context::kNone) return impl_->lanes[slot].stream;
  return impl_->open_stream(context, StreamKind::Legacy, ThreadId{});
}

StreamId Model::per_thread_stream(ContextId context, ThreadId thread) {
  const std::uint32_t index = impl_->contexts.index_of(context);
  const auto key = static_cast<std::uint64_t>(thread);
  if (const StreamId* known = impl_->contexts[index].per_thread.find(key)) return *known;
  const StreamId stream = impl_->open_stream(context, StreamKind::PerThread, thread);
  impl_->contexts[index].per_thread[key] = stream;
  return stream;
}

void Model::destroy_stream(StreamId stream) {
  Lane* lane = impl_->lane(stream);
  if (!lane || lane->kind == StreamKind::Legacy) return;
  impl_->contexts.leave(*lane);
  impl_->blocks.for_each([&](Allocation& block) {
    if (std::erase(block.declared, stream) > 0) block.waited.join(lane->clock);
  });
  if (lane->kind == StreamKind::PerThread) {
    impl_->contexts[lane->context].per_thread.erase(static_cast<std::uint64_t>(lane->thread));
  }
  impl_->lanes.retire(lane->slot);
  impl_->streams.erase(static_cast<std::uint64_t>(stream));
}

StreamKind Model::kind_of(StreamId stream) const {
  const Lane* lane = impl_->lane(stream);
  return lane ? lane->kind : StreamKind::NonBlocking;
}

EventId Model::create_event() {
  const EventId event{++impl_->last_event};
  impl_->events[impl_->last_event] = Event{};
  return event;
}

void Model::destroy_event(EventId event) { impl_->events.erase(static_cast<std::uint64_t>(event)); }

}  // namespace streamsan::ordering
