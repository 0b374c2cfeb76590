// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes. A lane is a stream or a host thread: it does one thing after another. It owns a slot of every vector clock.
//
// There are few slots, and programs create and destroy many streams. When a stream is destroyed its slot retires
// together with the last clock of the stream, and a later stream takes it over, epochs counting on. The new stream
// starts from that last clock, so it looks ordered after the old one's work: a race may be missed, none is invented. So
// that ordinary programs lose nothing, slots whose work the host knows to be complete are reused first, and no slot is
// reused before kMostRetired slots are retired.
//
// Joining the host's clock into a stream at every launch would cost a pass over the clock each time. A stream therefore
// remembers the version of the host clock it has seen, and joins only when that has changed.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "ordering/dependents.h"
#include "ordering/explain.h"
#include "ordering/host_marks.h"
#include "ordering/host_past.h"
#include "ordering/two_clocks.h"
#include "ordering/types.h"

namespace streamsan::ordering {

/// What a host thread (or all of them, if joined) knows to be complete.
struct HostClock {
  LaneSlot lane = 0;
  TwoClocks clock;
  std::uint64_t version = 1;    ///< changes whenever the clock does
  HostPast past;                ///< where the order of threads is seen
  std::uint64_t last_call = 0;  ///< grows from call to call
  bool shared = false;          ///< several threads have it
};

struct Lane {
  LaneSlot slot = 0;
  bool is_stream = false;  ///< false: a host thread, or a retired slot
  StreamKind kind = StreamKind::Blocking;
  StreamId stream{};
  std::uint32_t context = 0;  ///< index of the context
  ThreadId thread{};          ///< PerThread: whose
  TwoClocks clock;            ///< as of the last operation
  Epoch before_first = 0;     ///< epochs up to this belong to earlier streams of the slot
  Epoch last = 0;             ///< epoch of the last operation

  const HostClock* seen_host = nullptr;  ///< the host clock last joined, and its version then
  std::uint64_t seen_host_version = 0;
  std::uint64_t seen_barrier = 0;  ///< number of the legacy barrier last joined
  std::uint64_t seen_waits = 0;    ///< of the whole context
  bool behind_blocking = false;    ///< has work that the context's gathered clocks do not know yet
  bool behind_all = false;

  Chain chain;
  Work work;  ///< the last one
  LaneHistory history;
  HostMarks marks;  ///< with variants only
};

class Lanes {
 public:
  static constexpr std::size_t kMostRetired = 64;
  /// The same with variants: in few of them is old work known to be complete, so more lanes stay in use.
  static constexpr std::size_t kMostRetiredOfVariants = 4096;

  void keep_retired(std::size_t most) { most_retired_ = most; }
  /// A new lane, in a fresh or a retired slot. `known` is what every later operation starts after. If there must be a
  /// retired slot and none of those will do, one of which `perhaps` knows the work to be complete is preferred.
  Lane& open(const VectorClock& known, const VectorClock& perhaps);
  /// Ends the lane of a stream: its slot may be used again.
  void retire(LaneSlot slot);

  [[nodiscard]] Lane& operator[](LaneSlot slot) { return *by_slot_[slot]; }
  [[nodiscard]] const Lane& operator[](LaneSlot slot) const { return *by_slot_[slot]; }
  [[nodiscard]] std::size_t slots() const { return lanes_.size(); }

 private:
  std::deque<Lane> lanes_;         // references stay valid
  std::vector<Lane*> by_slot_;     // the same: a deque takes a division to find one, for each operation
  std::vector<LaneSlot> retired_;  // oldest first
  std::size_t most_retired_ = kMostRetired;
};

}  // namespace streamsan::ordering
