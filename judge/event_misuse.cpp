// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/event_misuse.h"

#include <algorithm>

#include "judge/mix.h"

namespace streamsan::judge {

using ordering::EventId;
using ordering::SiteId;
using ordering::StreamId;
using ordering::StreamKind;

namespace {

std::uint64_t key(EventId event) { return static_cast<std::uint64_t>(event); }
std::uint64_t key(SiteId site) { return static_cast<std::uint64_t>(site); }

}  // namespace

std::uint64_t& EventMisuse::work_of(StreamId stream) {
  const auto index = static_cast<std::size_t>(stream);
  if (index >= work_.size()) work_.resize(std::max(index + 1, work_.size() * 2));
  return work_[index];
}

void EventMisuse::work(StreamId stream) {
  if (++work_of(stream) != 1 || legacy_work_) return;
  const StreamLife* life = handles_.life(stream);
  legacy_work_ = life && life->kind == StreamKind::Legacy;
}

void EventMisuse::recorded(EventId id, const EventUse& use, std::optional<ordering::Moment> previous) {
  Event& event = events_[key(id)];
  if (event.exempt) return;
  const StreamLife* life = handles_.life(use.stream);
  const bool alone =
      life && (life->kind == StreamKind::NonBlocking || (life->kind != StreamKind::Legacy && !legacy_work_));
  const std::uint64_t work = work_of(use.stream);
  if (!event.last.made && event.odd) {
    Odd& odd = *event.odd;
    for (std::uint8_t i = 0; i < odd.empty_waits; ++i) {
      useful_[key(odd.empty[i].site)] = true;
      add(MisuseKind::WaitedTooEarly, id, odd.empty[i], use);
    }
    odd.empty_waits = 0;
  } else if (event.last.made && event.last.use.stream != use.stream && !event.looked_at && !event.last.covers_nothing &&
             previous && !model_.is_after(use.stream, *previous)) {
    Record& lost = event.make_odd().lost;
    lost = event.last;
    lost.moment = *previous;
  }
  event.last = {.use = use, .work = work, .covers_nothing = alone && work == 0, .made = true};
  event.covered |= !event.last.covers_nothing;
  event.looked_at = false;
}

void EventMisuse::empty_wait(Odd& odd, const EventUse& wait) {
  for (std::uint8_t i = 0; i < odd.empty_waits; ++i) {
    if (odd.empty[i].site == wait.site) return;
  }
  if (odd.empty_waits < odd.empty.size()) odd.empty[odd.empty_waits++] = wait;
}

void EventMisuse::waited(EventId id, const EventUse& wait) {
  Event& event = events_[key(id)];
  if (event.exempt) return;
  if (!event.last.made) return empty_wait(event.make_odd(), wait);
  useful_[key(wait.site)] = true;
  event.looked_at = true;
  if (event.odd && event.odd->lost.made) {
    const Record lost = event.odd->lost;
    event.odd->lost.made = false;
    const bool covered =
        wait.by_host ? model_.is_after(wait.thread, lost.moment) : model_.is_after(wait.stream, lost.moment);
    if (!covered) add(MisuseKind::RecordLost, id, wait, event.last.use, lost.use);
  }
  const bool elsewhere = wait.by_host || wait.stream != event.last.use.stream;
  if (elsewhere && event.last.covers_nothing && work_of(event.last.use.stream) > event.last.work) {
    Odd& odd = event.make_odd();
    if (!odd.early.made) {
      odd.early = event.last;
      odd.early_wait = wait;
    }
  }
  // From here on the waiting stream is after something.
  if (elsewhere && !wait.by_host && !event.last.covers_nothing) work(wait.stream);
}

void EventMisuse::queried(EventId id) {
  if (Event* event = events_.find(key(id))) event->looked_at = true;
}

void EventMisuse::exempt(EventId id) { events_[key(id)].exempt = true; }

void EventMisuse::add(MisuseKind kind, EventId id, const EventUse& wait, const EventUse& record, const EventUse& lost) {
  std::uint64_t hash = mix(0x4576656E74ull, static_cast<std::uint64_t>(kind));
  for (const EventUse* use : {&wait, &record, &lost}) hash = mix(hash, key(use->site));
  std::uint32_t& index = by_key_[hash];
  if (index != 0) {
    ++found_[index - 1].count;
    return;
  }
  if (found_.size() == kMost) return;  // advice enough
  Misuse& out = found_.emplace_back();
  index = static_cast<std::uint32_t>(found_.size());
  out.kind = kind;
  out.wait = wait;
  out.record = record;
  out.lost = lost;
  out.event_id = id;
  if (const EventLife* life = handles_.life(id)) out.event = *life;
  auto copy = [this](StreamLife& to, const EventUse& from) {
    const StreamLife* life = from.by_host ? nullptr : handles_.life(from.stream);
    if (life) to = *life;
  };
  copy(out.wait_stream, wait);
  copy(out.record_stream, record);
  copy(out.lost_stream, lost);
}

void EventMisuse::close(EventId id, Event& event) {
  if (event.exempt || !event.odd) return;
  Odd& odd = *event.odd;
  for (std::uint8_t i = 0; i < odd.empty_waits; ++i) add(MisuseKind::NeverRecorded, id, odd.empty[i], {});
  odd.empty_waits = 0;
  if (odd.early.made && !event.covered) add(MisuseKind::RecordedTooEarly, id, odd.early_wait, odd.early.use);
  odd.early.made = false;
}

void EventMisuse::destroyed(EventId id) {
  Event* event = events_.find(key(id));
  if (!event) return;
  close(id, *event);
  events_.erase(key(id));
}

std::vector<Misuse> EventMisuse::all() {
  std::vector<std::uint64_t> ids;
  events_.for_each([&ids](std::uint64_t id, const Event&) { ids.push_back(id); });
  std::sort(ids.begin(), ids.end());
  for (std::uint64_t id : ids) close(EventId{static_cast<std::uint32_t>(id)}, events_[id]);
  for (Misuse& misuse : found_) misuse.place_is_useful = useful_.find(key(misuse.wait.site)) != nullptr;
  return found_;
}

}  // namespace streamsan::judge
