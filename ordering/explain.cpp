// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choosing the nearest edge; explain.h has the order of preference.
#include "ordering/explain.h"

#include "ordering/lanes.h"

namespace streamsan::ordering {
namespace {

Explanation of_event(NearestEdge nearest, const EventCall& record, OpId wait, SiteId wait_site) {
  return {nearest, record.event, record.op, record.site, wait, wait_site};
}

/// The last wait of the later lane that led directly from the stream of the earlier access.
const DirectWait* direct_wait(const Lane& later, const UnorderedPair& pair) {
  if (pair.earlier_lane >= later.history.waits.size()) return nullptr;
  const DirectWait& wait = later.history.waits[pair.earlier_lane];
  if (wait.op == kNoOp || wait.source != pair.earlier.stream) return nullptr;
  if (pair.later.on_stream) return &wait;
  // The host goes on with what it learns after the wait; and it may have synchronised with more than the event.
  return wait.op >= pair.earlier.op && pair.host[pair.earlier_lane] <= wait.record.epoch ? &wait : nullptr;
}

/// Is the event that was waited for the right one, which is recorded at the wrong place? `behind`: the first record
/// after the earlier access, of another event. explain.h, WHICH EVENT IS MEANT.
bool recorded_before_its_work(const DirectWait& wait, const EventCall& behind, const Access& earlier) {
  const EventCall& record = wait.record;
  if (wait.op < earlier.op) return false;
  if (record.before.op == kNoOp) return true;
  if (record.site == behind.site && record.before.site != earlier.site) return true;
  const auto from_to = [](OpId a, OpId b) { return static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a); };
  const std::uint64_t to_work = from_to(record.op, earlier.op);
  return to_work < from_to(record.before.op, record.op) && to_work < from_to(earlier.op, behind.op);
}

/// A wait that did nothing, if that is why.
const EventCall* empty_wait(const Lane& later, const UnorderedPair& pair, const EventCall* behind,
                            const DirectWait* wait, const LaneHistory& earlier) {
  const EventCall& empty = later.history.last_empty_wait;
  if (!pair.later.on_stream || empty.op == kNoOp) return nullptr;
  if (empty.op < pair.earlier.op && empty.op < later.history.last_effective_wait) return nullptr;
  // The first turn of a ring of events.
  const bool of_another_slot = behind && behind->event != empty.event && earlier.recorded_since(empty.event, empty.op);
  return (wait && wait->op > empty.op) || of_another_slot ? nullptr : &empty;
}

/// Would the legacy stream order them, were the other one a blocking stream? That of another device does by copies only
/// (R-CPY-40).
bool legacy_beside_non_blocking(const Lane& a, const Access& by_a, const Lane& b, const Access& by_b) {
  const auto beside = [](const Lane& legacy, const Access& by_legacy, const Lane& other) {
    return legacy.kind == StreamKind::Legacy && other.kind == StreamKind::NonBlocking &&
           (legacy.context == other.context || by_legacy.op == legacy.history.last_between);
  };
  return beside(a, by_a, b) || beside(b, by_b, a);
}

}  // namespace

void LaneHistory::recorded(const EventCall& record) {
  records[next_record] = record;
  next_record = (next_record + 1) % kRecords;
}

const EventCall* LaneHistory::first_record_after(Epoch epoch) const {
  for (unsigned i = 0; i < kRecords; ++i) {
    const EventCall& record = records[(next_record + i) % kRecords];
    if (record.op != kNoOp && record.epoch > epoch) return &record;
  }
  return nullptr;
}

bool LaneHistory::recorded_since(EventId event, OpId op) const {
  for (const EventCall& record : records) {
    if (record.event == event && record.op > op) return true;
  }
  return false;
}

void LaneHistory::waited(LaneSlot source_slot, const DirectWait& wait) {
  if (source_slot >= waits.size()) waits.resize(source_slot + 1);
  waits[source_slot] = wait;
  last_effective_wait = wait.op;
}

Explanation explain(const UnorderedPair& pair, const Lanes& lanes) {
  const Lane& earlier = lanes[pair.earlier_lane];
  const Lane& later = lanes[pair.later_lane];
  const bool earlier_lives = earlier.is_stream && pair.earlier.on_stream && earlier.stream == pair.earlier.stream;

  const EventCall* behind = earlier_lives ? earlier.history.first_record_after(pair.earlier_epoch) : nullptr;
  const DirectWait* wait = direct_wait(later, pair);
  if (const EventCall* empty = empty_wait(later, pair, behind, wait, earlier.history)) {
    return {NearestEdge::EventNeverRecorded, empty->event, kNoOp, kNoSite, empty->op, empty->site};
  }
  // If it waits for another event (say, that of another slot of a ring buffer), the right event may exist and not be
  // waited for.
  if (wait &&
      (!behind || behind->event == wait->record.event || recorded_before_its_work(*wait, *behind, pair.earlier))) {
    const bool by_launch = wait->record.by_launch && wait->record.epoch == pair.earlier_epoch;
    const NearestEdge nearest = by_launch ? NearestEdge::LaunchEvent : NearestEdge::EventRecordedTooEarly;
    return of_event(nearest, wait->record, pair.later.on_stream ? wait->op : kNoOp, wait->site);
  }
  if (behind) return of_event(NearestEdge::EventNotWaitedFor, *behind, kNoOp, kNoSite);
  if (earlier_lives && pair.later.on_stream && legacy_beside_non_blocking(earlier, pair.earlier, later, pair.later)) {
    return {.nearest = NearestEdge::NonBlockingStream};
  }
  const DeviceWait& all = pair.device_wait;
  const bool for_later = !pair.later.on_stream || later.context == all.index || later.context == earlier.context;
  if (earlier_lives && for_later && all.after >= pair.earlier.op && all.index != earlier.context) {
    return {.nearest = NearestEdge::OtherDevice, .wait_site = all.site, .waited_for = all.context};
  }
  if (pair.earlier.on_stream && pair.host[pair.earlier_lane] > earlier.before_first) {
    return {.nearest = NearestEdge::SyncTooEarly};
  }
  return {};
}

}  // namespace streamsan::ordering
