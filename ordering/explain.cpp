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
  return wait.op != kNoOp && wait.source == pair.earlier.stream ? &wait : nullptr;
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

void LaneHistory::waited(LaneSlot source_slot, const DirectWait& wait) {
  if (source_slot >= waits.size()) waits.resize(source_slot + 1);
  waits[source_slot] = wait;
  last_effective_wait = wait.op;
}

Explanation explain(const UnorderedPair& pair, const Lanes& lanes) {
  const Lane& earlier = lanes[pair.earlier_lane];
  const Lane& later = lanes[pair.later_lane];
  const bool earlier_lives = earlier.is_stream && pair.earlier.on_stream && earlier.stream == pair.earlier.stream;

  if (pair.later.on_stream) {
    const EventCall& empty = later.history.last_empty_wait;
    if (empty.op != kNoOp && (empty.op > pair.earlier.op || empty.op > later.history.last_effective_wait)) {
      return {NearestEdge::EventNeverRecorded, empty.event, kNoOp, kNoSite, empty.op, empty.site};
    }
  }
  const EventCall* behind = earlier_lives ? earlier.history.first_record_after(pair.earlier_epoch) : nullptr;
  const DirectWait* wait = pair.later.on_stream ? direct_wait(later, pair) : nullptr;
  // If it waits for another event (say, that of another slot of a ring buffer), the right event exists and is not
  // waited for.
  if (wait && (!behind || behind->event == wait->record.event)) {
    const bool by_launch = wait->record.by_launch && wait->record.epoch == pair.earlier_epoch;
    const NearestEdge nearest = by_launch ? NearestEdge::LaunchEvent : NearestEdge::EventRecordedTooEarly;
    return of_event(nearest, wait->record, wait->op, wait->site);
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
