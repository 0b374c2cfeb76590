// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far streams and host threads have come: the order of what was submitted, and who knows what of it.
//
//   begin()  an operation takes its place in its stream: it joins what its thread knows (R-CORE-01), what the legacy
//            barrier puts before it (R-STR-10), and gets its epoch (R-CORE-02);
//   learn()  a host thread gets to know that something is complete.
//
// Nothing here looks into memory: it only keeps which free a thread waits for. What the variants of a what-if need beside their clocks is in progress_what_if.cpp.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "ordering/assumptions.h"
#include "ordering/contexts.h"
#include "ordering/copies.h"
#include "ordering/ended.h"
#include "ordering/explain.h"
#include "ordering/flat_map.h"
#include "ordering/keyed_clocks.h"
#include "ordering/lanes.h"
#include "ordering/model.h"
#include "ordering/variants.h"

namespace streamsan::ordering {

struct Event {
  bool recorded = false;
  TwoClocks captured;  ///< R-EVT-01: what the last record captured
  StreamId source{};
  LaneSlot source_slot = 0;
  EventCall record;
};

/// The host's, for explanations.
struct EventWait {
  LaneSlot source_slot = 0;
  DirectWait wait;
};

/// What becomes of a thread's blocking call when it returns.
struct Pending {
  SiteId site{};
  bool active = false;  ///< the host will know something
  TwoClocks learns;
  std::optional<Rule> leaned_on;      ///< the rule by which the assumed clock learns more than the documented one
  std::optional<Ended> ended;         ///< the free that is being made
  std::optional<Access> second_free;  ///< a free of memory that was freed before
  std::optional<DeviceWait> device_wait{};
  std::optional<EventWait> event_wait{};
};

struct HostThread {
  HostClock* host = nullptr;
  Pending pending;
  DeviceWait device_wait;  ///< the last one, for explanations
  // HostThreads::Seen
  FlatMap<std::uint64_t> seen;  ///< by thread: the moment up to which it is known to be before this one
  bool hides_order = false;     ///< it synchronises by means that are not seen, too
};

/// A place in the order at which a block is handed out or comes back.
struct Point {
  OpId op{};
  LaneSlot lane = 0;
  const TwoClocks& clock;
};

class Progress {
 public:
  Progress(Options options, const WhatIf* what_if);

  const Options options;
  std::optional<Variants> variants;  ///< of a what-if

  Lanes lanes;
  Contexts contexts{lanes};
  std::deque<HostClock> hosts;  // addresses stay valid
  FlatMap<HostThread> threads;
  FlatMap<LaneSlot> streams;
  FlatMap<Event> events;
  KeyedClocks graphs;   ///< R-GRF-35: by executable graph, its last launch
  KeyedClocks objects;  ///< by object, what was signalled
  Assumptions assumptions;
  VectorClock signalled;  ///< R-HST-06: work of which host functions submitted so far may have signalled the end
  std::uint32_t last_stream = 0;
  std::uint32_t last_event = 0;
  std::uint64_t last_op = 0;
  std::uint64_t moment = 0;  ///< of the present call
  TwoClocks everybody;       ///< HostThreads::Seen: what any thread knows

  [[nodiscard]] bool joined() const { return options.host_threads == Options::HostThreads::Joined; }
  [[nodiscard]] bool sees_threads() const { return options.host_threads == Options::HostThreads::Seen; }
  /// What every later operation starts after, if that is known: joined threads know the same, and so does a thread that
  /// is alone so far. (One that comes later has been started by it, or else its conflicts are `possible` at most.)
  [[nodiscard]] const HostClock* common_host() const {
    return !hosts.empty() && (joined() || (sees_threads() && hosts.size() == 1)) ? &hosts.front() : nullptr;
  }
  HostThread& thread(ThreadId id);
  HostClock& host(ThreadId id) { return *thread(id).host; }
  [[nodiscard]] Lane* lane(StreamId stream);
  [[nodiscard]] OpId next_op() { return OpId{++last_op}; }
  /// The thread makes a call: whatever it still waited for is over.
  HostThread& calling(const Call& call);

  StreamId open_stream(ContextId context, StreamKind kind, ThreadId thread);

  /// The next operation of the stream begins: joins what the legacy barrier puts before it.
  void enter(const Call& call, Lane& lane, LegacyRole role);
  OpId begin(Call call, Lane& lane, LegacyRole role);
  /// As begin(); it is no work of the lane.
  OpId begin_event_call(const Call& call, Lane& lane, LegacyRole role);
  /// R-CPY-40: the copy is an action of other devices' legacy streams, too.
  OpId begin_between(Call call, Lane& lane, std::span<Lane* const> peers);
  void learn(HostClock& host, const TwoClocks& clocks);
  /// Promises the thread, for when its call returns, what the row of the copy matrix says. `prior` is what a
  /// synchronisation with the stream would have covered before the copy.
  void promise(HostThread& thread, const CopyRule& rule, const Lane& lane, const TwoClocks& prior);
  /// Where the stream, or else the host thread, is now; nullopt: no such stream.
  std::optional<Point> point(Call call, std::optional<StreamId> stream);

  // host_threads.cpp
  /// The thread comes after that moment of the other one; after what every thread has done so far.
  void after(ThreadId later, ThreadId earlier, std::uint64_t then);
  void after_all(ThreadId later);
  /// Did the program perhaps order the two all the same, by host threads? `clock`: of the later one, which is not after
  /// the earlier one by documented edges.
  [[nodiscard]] bool perhaps_passed_on(const Access& earlier, const Access& later, LaneSlot lane, Epoch epoch,
                                       const TwoClocks& clock);

  // progress_what_if.cpp
  /// The thread makes a call at a place that a wait may have been moved to.
  void arrive(const Call& call) {
    if (variants) make_moved_waits(call);
  }
  /// Did the base know all that before? Then that a query succeeded in it says nothing of a program that had not
  /// waited.
  [[nodiscard]] bool knew(const HostClock& host, const TwoClocks& clocks) const;
  /// As learn(), of what the call at the site makes known.
  void learn_at(SiteId site, HostClock& host, const TwoClocks& learns);
  /// Tells of a conflict with an earlier access how the programs order it. How the base does.
  PairOrder tell_pair(LaneSlot lane, Epoch epoch, Pair& pair, bool staged, const TwoClocks& clock);
  /// The operation is one that the host may wait for: remembers it. `range`: of host memory.
  void mark(Lane& lane, OpId op, SiteId site, Exposure::Why why, Range range = {},
            MemoryKind memory = MemoryKind::Pageable);
  /// The copy promises by itself that it is done with its source; without its wait it would not.
  void expose_source(const Lane& lane, OpId op, SiteId site, Range source);
  /// The operation may touch anything: marks it, and tells of the variants in which it comes after less.
  void mark_unbounded(Lane& lane, OpId op, SiteId site, Exposure::Why why);
  void mark_work(Lane& lane, OpId op, SiteId site);
  /// What the last operation of the lane does to memory of the host's.
  void mark_access(Lane& lane, OpId op, SiteId site, Range range, AccessMode mode, MemoryKind memory);
  /// Tells of work that only the waits which variants lack have waited for.
  void end_of_trace();

 private:
  // progress_what_if.cpp
  /// As contexts.enter().
  void enter_among(const Call& call, Lane& lane, LegacyRole role);
  /// The operation's barrier, in those among whom it is made, has put behind the lane what was not in `before`.
  void tell_barrier(const Lane& lane, const VectorClock& before, const Among& among, OpId op);
  void make_moved_waits(const Call& call);
  void apply(Put& put, HostClock& host, const TwoClocks& learns);
  /// Tells of it in the variant.
  void expose(Exposure exposure, VariantId variant);

  std::vector<InVariant> in_variants_;  // scratch of tell_pair()
};

}  // namespace streamsan::ordering
