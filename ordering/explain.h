// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why does nothing order two operations? The edge that comes nearest to doing so.
//
// A report that only says "unordered" leaves the search to its reader. Nearly always the program has an edge with a
// mistake: the event was recorded too early (or by the launch itself, which is before the kernel has ended), or never,
// or nothing waits for it. Each lane therefore keeps a few facts about the event calls made on it: the last records,
// the last wait on a never-recorded event, and for every other lane the last wait that led directly from it. These
// facts only explain; they never order anything.
//
// Choice, the most helpful first: a wait on a never-recorded event (nearly always the bug itself); a wait for an event
// recorded too early, unless another event seems to be meant; the first record after the access, which nobody waits
// for; the legacy stream beside a non-blocking one; a host synchronisation with another device; one that came too
// early; none.
//
// WHICH EVENT IS MEANT. A buffer of several slots has an event for each. If they are recorded before the work instead
// of behind it, the next record after that work is the other slot's, and has nothing to do with it. If they are
// recorded rightly and the later lane waits for the wrong one, the next record is the right one. Seen from one lane
// both are an alternation of records and work. What tells them apart is to which work a record belongs: the one behind
// which it stands, or the one before which it stands. It belongs before its work if nothing was submitted to the lane
// before it, or, in the first turn of a ring, nothing by that place in the program, or if its work was submitted sooner
// after it than anything before it. The first waits of a ring find nothing recorded: they are right, and no explanation
// of what goes wrong in a later turn.
//
// What is lost: indirect edges are not searched, and each lane keeps few facts of each kind, so the explanation may be
// None although there is an edge that nearly orders the two. The hazard itself does not depend on it.
#pragma once

#include <array>
#include <vector>

#include "ordering/hazard.h"
#include "ordering/two_clocks.h"

namespace streamsan::ordering {

class Lanes;

/// The last operation of a lane that is no call on an event.
struct Work {
  OpId op{};
  SiteId site{};
};

/// An event call, for reports.
struct EventCall {
  EventId event{};
  OpId op{};
  SiteId site{};
  Epoch epoch = 0;         ///< in the lane of the call
  Work before;             ///< of a record: the last work of the lane before it
  bool by_launch = false;  ///< a record that a launch makes itself: the epoch is that of its kernel
};

/// The last wait of a lane for an event recorded in some other lane. The host has a lane, too.
struct DirectWait {
  StreamId source{};  ///< the stream recorded in, as its slot may have changed hands
  EventCall record;
  OpId op{};  ///< by the host: the last operation before it
  SiteId site{};
};

/// The last wait of a thread of the host for all work of a device.
struct DeviceWait {
  OpId after{};  ///< the last operation before it
  SiteId site{};
  ContextId context{};
  std::uint32_t index = 0;  ///< of the context, as lanes have it
};

struct LaneHistory {
  static constexpr unsigned kRecords = 16;
  std::array<EventCall, kRecords> records{};  ///< the last ones, in turn
  unsigned next_record = 0;
  EventCall last_empty_wait;      ///< on an event that had never been recorded
  OpId last_effective_wait{};     ///< on any recorded event
  OpId last_between{};            ///< Legacy: the last copy between devices in it (R-CPY-40)
  std::vector<DirectWait> waits;  ///< by slot of the source

  void recorded(const EventCall& record);
  /// Is one of the kept records of the event after that operation?
  [[nodiscard]] bool recorded_since(EventId event, OpId op) const;
  void waited(LaneSlot source_slot, const DirectWait& wait);
  /// The earliest of the kept records that comes after the epoch, or nullptr: a wait for it waits for as little as
  /// possible.
  [[nodiscard]] const EventCall* first_record_after(Epoch epoch) const;
};

/// The two accesses of a hazard as points in time.
struct UnorderedPair {
  LaneSlot earlier_lane = 0;
  Epoch earlier_epoch = 0;
  LaneSlot later_lane = 0;
  const Access& earlier;
  const Access& later;
  const VectorClock& host;  ///< what the thread of the later access knew
  DeviceWait device_wait;   ///< of that thread
};

Explanation explain(const UnorderedPair& pair, const Lanes& lanes);

}  // namespace streamsan::ordering
