// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Progress keeps the order of what was submitted, and what each host thread knows to be complete.
//
//   begin()  gives an operation its place in its stream. The operation comes after what its host thread knows
//            (R-CORE-01) and after what the legacy barrier puts before it (R-STR-10), and gets its epoch (R-CORE-02).
//   learn()  says that a host thread gets to know that something is complete.
//
// Memory is not its subject, but for one thing: it remembers which free a thread is about to wait for. What a what-if
// needs beside the clocks of its variants is in progress_what_if.cpp.
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
  EventTiming timing = EventTiming::On;
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

/// What happens when a thread's blocking call returns.
struct Pending {
  SiteId site{};
  bool active = false;  ///< the host will get to know something
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
  // HostThreads::Strict
  FlatMap<std::uint64_t> seen;  ///< by thread: up to which moment that thread comes before this one
  bool hides_order = false;     ///< it also synchronises in ways that are not seen
};

/// Have host threads ordered a conflict in a way that is not seen (host_threads.cpp)?
enum class PassedOn : std::uint8_t {
  No,
  Perhaps,       ///< if they were joined the conflict would be ordered
  ByAssumption,  ///< if they were joined it would be ordered by assumed edges
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
  VectorClock signalled;  ///< R-HST-06: host functions submitted so far may have signalled that this work is complete
  std::uint32_t last_stream = 0;
  std::uint32_t last_event = 0;
  std::uint64_t last_op = 0;
  std::uint64_t moment = 0;  ///< of the present call
  const TwoClocks nothing;   ///< the clock of what comes after nothing

  [[nodiscard]] bool joined() const { return options.host_threads == Options::HostThreads::Joined; }
  [[nodiscard]] bool sees_threads() const {
    return options.host_threads == Options::HostThreads::Seen || options.host_threads == Options::HostThreads::Strict;
  }
  /// The clock that every later operation starts after, if there is one: joined threads have one clock, and a program
  /// that has had only one thread so far has one. (A thread that comes later was started by that one, or else its
  /// conflicts are `possible` at most.)
  [[nodiscard]] const HostClock* common_host() const {
    return !hosts.empty() && (joined() || (sees_threads() && hosts.size() == 1)) ? &hosts.front() : nullptr;
  }
  /// What the thread would know if threads were joined, where their order is seen; else what it knows.
  [[nodiscard]] const TwoClocks& known_if_joined(const HostClock& host) const {
    return sees_threads() && hosts.size() > 1 ? everybody_ : host.clock;
  }
  /// Whether threads that are joined would know it, where their order is seen and there are several.
  [[nodiscard]] bool known_to_another(LaneSlot lane, Epoch epoch) const {
    return sees_threads() && hosts.size() > 1 && everybody_.documented.covers(lane, epoch);
  }
  /// If memory is short, what this knows is forgotten first; nullptr: nothing is known to be over. Where order is seen,
  /// that loses conflicts that are `possible` at most.
  [[nodiscard]] const VectorClock* forgettable() const {
    if (hosts.empty() || !(joined() || sees_threads())) return nullptr;
    return &known_if_joined(hosts.front()).documented;
  }
  [[gnu::always_inline]] HostThread& thread(ThreadId id) {
    if (!caller_ || caller_id_ != id) [[unlikely]]
      meet_caller(id);
    caller_->host->last_call = ++calls_;
    return *caller_;
  }
  HostClock& host(ThreadId id) { return *thread(id).host; }
  [[nodiscard, gnu::always_inline]] Lane* lane(StreamId stream) {
    const LaneSlot* slot = streams.find(static_cast<std::uint64_t>(stream));
    return slot ? &lanes[*slot] : nullptr;
  }
  [[nodiscard]] OpId next_op() { return OpId{++last_op}; }
  /// To be called first at each call of the thread: its previous call has returned.
  HostThread& calling(const Call& call);

  StreamId open_stream(ContextId context, StreamKind kind, ThreadId thread);
  /// The stream that is given the records of events of the whole context, and nothing else.
  Lane& recorder_of(ContextId context);

  /// Puts the stream's next operation after what the legacy barrier puts before it.
  void enter(const Call& call, Lane& lane, LegacyRole role);
  OpId begin(Call call, Lane& lane, LegacyRole role);
  /// As begin(); it is no work of the lane.
  OpId begin_event_call(const Call& call, Lane& lane, LegacyRole role);
  /// As begin_event_call(), for a record. Without timing and right behind a kernel, what follows it is so, too
  /// (R-LCH-02g).
  OpId begin_record(const Call& call, Lane& lane, EventTiming timing);
  /// Whether the operation that has just begun comes after anything besides the work of its own stream and what its
  /// thread knows. `before`: the stream's clock in front of it.
  [[nodiscard]] static bool joined_more(const Lane& lane, const TwoClocks& before, const HostClock& host);
  /// R-CPY-40: the copy is an action of other devices' legacy streams as well.
  OpId begin_between(Call call, Lane& lane, std::span<Lane* const> peers);
  void learn(HostClock& host, const TwoClocks& clocks);
  /// Notes what the thread will know when its call returns, by the row of the copy matrix. `prior` is what a
  /// synchronisation with the stream, made just before the copy, would have covered.
  void promise(HostThread& thread, const CopyRule& rule, const Lane& lane, const TwoClocks& prior);
  /// Where the stream, or else the host thread, is now; nullopt: no such stream.
  std::optional<Point> point(Call call, std::optional<StreamId> stream);

  // host_threads.cpp
  /// after(): the thread comes after the moment `then` of the other one. after_all(): it comes after everything that
  /// any thread has done so far.
  void after(ThreadId later, ThreadId earlier, std::uint64_t then);
  void after_all(ThreadId later);
  /// `clock` is that of the later access, which no documented edge puts after the earlier one.
  [[nodiscard]] PassedOn passed_on(const Access& earlier, const Access& later, LaneSlot lane, Epoch epoch,
                                   const TwoClocks& clock);
  /// A host function begins: what its stream is behind may be signalled to the host from then on (R-HST-06).
  void may_signal(const Lane& lane);

  // progress_what_if.cpp
  /// The thread makes a call at a place that a wait may have been moved to.
  void arrive(const Call& call) {
    if (variants) make_moved_waits(call);
  }
  /// True if the base knew all that before. A query that succeeded in it then says nothing about a program that has not
  /// waited.
  [[nodiscard]] bool knew(const HostClock& host, const TwoClocks& clocks) const;
  /// As learn(), for what the call at the site makes known.
  void learn_at(SiteId site, HostClock& host, const TwoClocks& learns);
  /// Reports how each variant orders a conflict with an earlier access. Returns how the base orders it.
  PairOrder tell_pair(LaneSlot lane, Epoch epoch, Pair& pair, bool staged, const TwoClocks& clock);
  /// Remembers an operation that the host may wait for. `range` is its host memory, if any.
  void mark(Lane& lane, OpId op, SiteId site, Exposure::Why why, Range range = {},
            MemoryKind memory = MemoryKind::Pageable);
  /// Reports, for each variant without the wait inside of a copy, that the host may overwrite the copy's source too
  /// early.
  void expose_source(const Lane& lane, OpId op, SiteId site, Range source);
  /// Marks an operation that may touch anything, and reports the variants in which it comes after less than in the
  /// base.
  void mark_unbounded(Lane& lane, OpId op, SiteId site, Exposure::Why why);
  void mark_work(Lane& lane, OpId op, SiteId site);
  /// Marks the last operation of the lane, which reads or writes host memory.
  void mark_access(Lane& lane, OpId op, SiteId site, Range range, AccessMode mode, MemoryKind memory);
  /// Reports work that the host never waits for in a variant, because the variant lacks the only waits for it.
  void end_of_trace();

 private:
  // host_threads.cpp
  void meet_caller(ThreadId id);
  HostClock& host_for_new_thread();
  [[nodiscard]] bool was_handed_over_too_early(const Access& earlier, const Access& later, LaneSlot lane, Epoch epoch);

  // progress_what_if.cpp
  /// As contexts.enter().
  void enter_among(const Call& call, Lane& lane, LegacyRole role);
  /// Reports that the legacy barrier of the operation mattered: the lane's clock has more than `before`. `among` says
  /// which variants lack the barrier.
  void tell_barrier(const Lane& lane, const VectorClock& before, const Among& among, OpId op);
  void make_moved_waits(const Call& call);
  void apply(Put& put, HostClock& host, const TwoClocks& learns);
  /// Reports it for the variant.
  void expose(Exposure exposure, VariantId variant);

  std::uint64_t calls_ = 0;       // of thread(): who has been silent for longest
  HostThread* caller_ = nullptr;  // what thread() found last; only thread() inserts into `threads`, nothing erases
  ThreadId caller_id_{};
  TwoClocks everybody_;                 // with several hosts whose order is seen: what any of them knows
  std::vector<InVariant> in_variants_;  // scratch of tell_pair()
};

}  // namespace streamsan::ordering
