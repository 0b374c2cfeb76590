// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/handles.h"

#include <utility>

#include "trace/format.h"

namespace streamsan::judge {

using ordering::ContextId;
using ordering::EventId;
using ordering::StreamId;
using ordering::StreamKind;
using ordering::ThreadId;

namespace {
/// Lives of destroyed streams that reports may still name. Older ones are named "a destroyed stream".
constexpr std::size_t kDestroyedKept = 65536;
constexpr std::uint32_t kMostDevices = 1u << 16;  // a trace may say anything

template <typename Id>
std::uint64_t key(Id id) {
  return static_cast<std::uint64_t>(id);
}
}  // namespace

ContextId Handles::context(std::uint64_t raw, ThreadId thread) {
  std::uint32_t& last = last_context_[key(thread)];
  if (raw == 0) {
    if (last == 0) last = newest_context_;
    return ContextId{last};
  }
  std::uint32_t& id = contexts_[raw];
  if (id == 0) id = newest_context_ = next_context_++;
  last = id;
  return ContextId{id};
}

void Handles::place_context(std::uint64_t raw, std::uint64_t device, ThreadId thread) {
  if (raw == 0 || device >= kMostDevices) return;
  const auto kept = static_cast<std::uint32_t>(device) + 1;
  if (std::exchange(devices_[key(context(raw, thread))], kept) == kept) return;
  if (first_device_ == 0) first_device_ = kept;
  several_devices_ |= first_device_ != kept;
  // A thread may use streams of a context before it says of which device that is.
  stream_lives_.for_each([this](std::uint64_t, StreamLife& life) { life.device = this->device(life.context); });
}

std::vector<ContextId> Handles::with_green_contexts(std::uint64_t raw, ThreadId thread) {
  const auto device_of = [this](std::uint32_t id) {
    const std::uint32_t* device = devices_.find(id);
    return device ? *device : 0;
  };
  const std::uint32_t here = raw == 0 ? 0 : device_of(static_cast<std::uint32_t>(context(raw, thread)));
  std::vector<ContextId> all;
  contexts_.for_each([&](std::uint64_t each, std::uint32_t id) {
    const std::uint32_t device = device_of(id);
    if (each == raw || here == 0 || device == 0 || device == here) all.push_back(ContextId{id});
  });
  return all;
}

void Handles::destroy_context(std::uint64_t raw) {
  std::uint32_t* id = contexts_.find(raw);
  if (!id) return;
  ContextId context{*id};
  contexts_.erase(raw);
  std::vector<std::uint64_t> dead;
  streams_.for_each([&](std::uint64_t handle, std::uint32_t stream) {
    const StreamLife* life = stream_lives_.find(stream);
    if (life && life->context == context) dead.push_back(handle);
  });
  for (std::uint64_t handle : dead) destroy_stream(handle);
}

StreamLife& Handles::adopt(StreamId id, StreamLife life) {
  StreamLife& kept = stream_lives_[key(id)];
  kept = std::move(life);
  kept.device = device(kept.context);
  return kept;
}

StreamId Handles::stream(std::uint64_t raw, std::uint64_t raw_context, ThreadId thread) {
  if (raw > trace::kPerThreadStream) {
    if (const std::uint32_t* id = streams_.find(raw)) return StreamId{*id};
    create_stream(raw, false, raw_context, 0, thread);
    return StreamId{streams_[raw]};
  }
  ContextId where = context(raw_context, thread);
  if (raw == trace::kPerThreadStream) {
    std::uint64_t at = key(where) << 32 | key(thread);
    if (const std::uint32_t* id = per_thread_.find(at)) return StreamId{*id};
    StreamId id = model_.per_thread_stream(where, thread);
    per_thread_[at] = static_cast<std::uint32_t>(id);
    adopt(id, {.handle = raw, .context = where, .kind = StreamKind::PerThread, .thread = thread});
    return id;
  }
  if (const std::uint32_t* id = legacy_.find(key(where))) return StreamId{*id};
  StreamId id = model_.legacy_stream(where);
  legacy_[key(where)] = static_cast<std::uint32_t>(id);
  adopt(id, {.handle = raw, .context = where, .kind = StreamKind::Legacy});
  return id;
}

void Handles::create_stream(std::uint64_t raw, bool non_blocking, std::uint64_t raw_context, std::uint64_t unique,
                            ThreadId thread, ordering::SiteId created) {
  if (raw <= trace::kPerThreadStream) return;
  if (const std::uint32_t* old = streams_.find(raw)) {
    const StreamLife* known = life(StreamId{*old});
    // Two threads may both have announced a handle that neither had seen before.
    if (known && known->unique == unique && unique != 0) return;
    destroy_stream(raw);
  }
  ContextId where = context(raw_context, thread);
  StreamKind kind = non_blocking ? StreamKind::NonBlocking : StreamKind::Blocking;
  StreamId id = model_.create_stream(where, kind);
  streams_[raw] = static_cast<std::uint32_t>(id);
  adopt(id, {.handle = raw,
             .unique = unique,
             .context = where,
             .kind = kind,
             .number = next_stream_number_++,
             .created = created});
}

void Handles::destroy_stream(std::uint64_t raw) {
  const std::uint32_t* found = streams_.find(raw);
  if (!found) return;
  StreamId id{*found};
  // A stream that was not announced when it was captured first is, before its capture ends.
  const StreamLife* life = stream_lives_.find(key(id));
  const std::vector<StreamId>* members = life && life->capture ? captures_.find(life->capture) : nullptr;
  if (members && !members->empty() && members->front() == id) end_capture(id);
  streams_.erase(raw);
  model_.destroy_stream(id);
  destroyed_streams_.push_back(id);
  if (destroyed_streams_.size() <= kDestroyedKept) return;
  stream_lives_.erase(key(destroyed_streams_.front()));
  destroyed_streams_.pop_front();
}

void Handles::name_stream(std::uint64_t raw, std::string name) {
  const std::uint32_t* id = streams_.find(raw);
  if (!id) return;
  if (StreamLife* life = stream_lives_.find(*id)) life->name = std::move(name);
}

std::optional<std::uint32_t> Handles::device(ContextId context) const {
  const std::uint32_t* device = several_devices_ ? devices_.find(key(context)) : nullptr;
  return device ? std::optional(*device - 1) : std::nullopt;
}

const StreamLife* Handles::life(StreamId stream) const { return stream_lives_.find(key(stream)); }

bool Handles::exists(StreamId stream) const {
  const StreamLife* known = life(stream);
  return known && (known->handle <= trace::kPerThreadStream || known_stream(known->handle) == stream);
}

std::optional<StreamId> Handles::known_stream(std::uint64_t raw) const {
  const std::uint32_t* id = streams_.find(raw);
  return id ? std::optional(StreamId{*id}) : std::nullopt;
}

std::optional<EventId> Handles::known_event(std::uint64_t raw) const {
  const std::uint32_t* id = events_.find(raw);
  return id ? std::optional(EventId{*id}) : std::nullopt;
}

EventId Handles::event(std::uint64_t raw) {
  if (const std::uint32_t* id = events_.find(raw)) return EventId{*id};
  create_event(raw, false);
  EventId id{events_[raw]};
  event_lives_[key(id)].foreign = true;
  return id;
}

void Handles::create_event(std::uint64_t raw, bool interprocess, ordering::EventTiming timing,
                           ordering::SiteId created) {
  destroy_event(raw);
  EventId id = model_.create_event(timing);
  events_[raw] = static_cast<std::uint32_t>(id);
  event_lives_[key(id)] = {.handle = raw,
                           .number = next_event_number_++,
                           .foreign = interprocess,
                           .interprocess = interprocess,
                           .created = created};
}

void Handles::destroy_event(std::uint64_t raw) {
  const std::uint32_t* found = events_.find(raw);
  if (!found) return;
  EventId id{*found};
  events_.erase(raw);
  event_lives_.erase(key(id));
  model_.destroy_event(id);
}

const EventLife* Handles::life(EventId event) const { return event_lives_.find(key(event)); }

void Handles::launch_graph(ordering::SiteId launch, ordering::SiteId created) {
  if (launch == ordering::kNoSite) return;
  const auto place = static_cast<std::uint64_t>(launch);
  if (ordering::SiteId* known = graphs_.find(place)) {
    if (*known != created) *known = ordering::kNoSite;
  } else {
    graphs_[place] = created;
  }
}

ordering::SiteId Handles::graph_of(const ordering::Access& access) const {
  if (access.node == 0) return ordering::kNoSite;
  if (access.launched == ordering::kNoSite) return checked_graph_;
  const ordering::SiteId* created = graphs_.find(static_cast<std::uint64_t>(access.launched));
  return created ? *created : ordering::kNoSite;
}

void Handles::begin_capture(StreamId stream) {
  StreamLife* life = stream_lives_.find(key(stream));
  if (!life) return;
  // A capture of this stream whose end was not seen has ended: the driver refuses to begin a second one.
  if (life->capture) end_capture(stream);
  life->capture = next_capture_++;
  captures_[life->capture].push_back(stream);
}

void Handles::end_capture(StreamId stream) {
  StreamLife* life = stream_lives_.find(key(stream));
  if (!life || !life->capture) return;
  std::uint32_t capture = life->capture;
  if (std::vector<StreamId>* members = captures_.find(capture)) {
    for (StreamId member : *members) {
      StreamLife* of_member = stream_lives_.find(key(member));
      if (of_member && of_member->capture == capture) of_member->capture = 0;
    }
  }
  captures_.erase(capture);
}

bool Handles::executes(StreamId stream) const {
  if (captures_.size() == 0) return true;
  const StreamLife* of_stream = life(stream);
  return !of_stream || of_stream->capture == 0;
}

bool Handles::recorded(EventId event, StreamId stream) {
  EventLife* of_event = event_lives_.find(key(event));
  const StreamLife* of_stream = life(stream);
  std::uint32_t capture = of_stream ? of_stream->capture : 0;
  if (of_event) {
    of_event->capture = capture;
    of_event->foreign = of_event->interprocess;
  }
  return capture == 0;
}

bool Handles::waits(EventId event, StreamId stream) {
  if (captures_.size() == 0) return true;
  StreamLife* of_stream = stream_lives_.find(key(stream));
  const EventLife* of_event = life(event);
  if (!of_stream) return true;
  if (of_event && of_event->capture && of_stream->capture == 0) {
    if (std::vector<StreamId>* members = captures_.find(of_event->capture)) {
      of_stream->capture = of_event->capture;
      members->push_back(stream);
    }
  }
  return of_stream->capture == 0;
}

}  // namespace streamsan::judge
