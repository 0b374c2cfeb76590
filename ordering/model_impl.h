// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state behind a Model, and the three things every call is made of:
//   begin()  an operation takes its place in its stream: it joins what its thread knows (R-CORE-01), what the legacy
//            barrier puts before it (R-STR-10), and gets its epoch (R-CORE-02);
//   touch()  an access is compared with the shadow of its allocation, hazards go to the sink, and it is remembered;
//   learn()  a host thread gets to know that something is complete.
// The public calls are in model_streams.cpp, model_memory.cpp, model_operations.cpp and model_order.cpp.
//
// A stream, event or address the model was not told of is not an error: the call came from a program that may do
// anything, and the trace may start late. It has no effect, and nothing is reported for it.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "ordering/allocations.h"
#include "ordering/assumptions.h"
#include "ordering/contexts.h"
#include "ordering/copies.h"
#include "ordering/flat_map.h"
#include "ordering/lanes.h"
#include "ordering/model.h"

namespace streamsan::ordering {

struct Event {
  bool recorded = false;
  TwoClocks captured;  ///< R-EVT-01: what the last record captured
  StreamId source{};
  LaneSlot source_slot = 0;
  EventCall record;
};

/// What a thread will know when its blocking call returns.
struct Pending {
  bool active = false;
  TwoClocks learns;
  std::optional<Rule> leaned_on;  ///< the rule by which the assumed clock learns more than the documented one
};

struct HostThread {
  HostClock* host = nullptr;
  Pending pending;
};

/// Who makes an access, and when.
struct Actor {
  LaneSlot lane = 0;
  Epoch epoch = 0;
  const TwoClocks& clock;
  const HostClock& host;
  /// The rule by which the clock's assumed side knows more than lane and host do: a free that is assumed to wait.
  std::optional<Rule> waits_by{};
};

/// A run of bytes that an access touches. A kernel touches several, in several ways.
struct Part {
  Allocation* allocation = nullptr;
  Range range;
  AccessMode mode = AccessMode::Read;
  bool widened = false;
};

struct Model::Impl {
  Impl(Options options, HazardSink& hazard_sink);

  Options options;
  HazardSink& sink;

  Lanes lanes;
  Contexts contexts{lanes};
  std::deque<HostClock> hosts;  // addresses stay valid
  FlatMap<HostThread> threads;
  FlatMap<LaneSlot> streams;
  FlatMap<Event> events;
  FlatMap<TwoClocks> graphs;   ///< R-GRF-35: by executable graph, its last launch
  TwoClocks forgotten_graphs;  ///< joined clocks of those dropped from the table

  Allocations allocations;
  AccessPool pool;
  ShadowCounters shadow;
  Assumptions assumptions;
  VectorClock told;  ///< R-HST-06: what host functions submitted so far may have told the host

  std::uint32_t last_stream = 0;
  std::uint32_t last_event = 0;
  std::uint64_t last_op = 0;
  std::uint64_t accesses = 0;
  std::uint64_t hazards = 0;

  [[nodiscard]] bool joined() const { return options.host_threads == Options::HostThreads::Joined; }
  HostThread& thread(ThreadId id);
  HostClock& host(ThreadId id) { return *thread(id).host; }
  [[nodiscard]] Lane* lane(StreamId stream);
  [[nodiscard]] OpId next_op() { return OpId{++last_op}; }

  StreamId open_stream(ContextId context, StreamKind kind, ThreadId thread);

  OpId begin(Call call, Lane& lane, LegacyRole role);
  void learn(HostClock& host, const TwoClocks& clocks);
  /// Promises the thread, for when its call returns, what the row of the copy matrix says. `prior` is what a
  /// synchronisation with the stream would have covered before the copy.
  void promise(HostThread& thread, const CopyRule& rule, const Lane& lane, const TwoClocks& prior);

  /// Compares with everything earlier, reports, and remembers. The parts are what one operation touches of the
  /// allocation: for each unordered lane, one hazard is reported, the worst. The access's own range is not used.
  void touch(Access access, std::span<const Part> parts, const Actor& actor);
  /// Compares and reports only.
  void check(Access access, std::span<const Part> parts, const Actor& actor);
  /// One side of a copy, or a fill.
  void touch_footprint(const Footprint& footprint, const Access& access, const Actor& actor);
  /// What a kernel is known to touch.
  void touch_known(std::span<const KernelBytes> bytes, const Access& access, const Actor& actor);
  void end(Allocation& allocation);
  void end_overlapping(Range range);
  [[nodiscard]] MemoryKind kind_at(Address address);

 private:
  struct Conflict {
    LaneSlot lane = 0;
    Epoch epoch = 0;
    Access earlier;
    Access later;
    Range overlap;
    Certainty certainty{};
    bool perhaps_told = false;
    Order order{};
  };

  void collect(const Allocation& allocation, const Access& access, bool also_inferred, const Actor& actor);
  void report(const Allocation& allocation, const Actor& actor);
  void stay_bounded();
  void add_parts(const Footprint& footprint, AccessMode mode, bool widened);
  void touch_parts(const Access& access, const Actor& actor);

  std::vector<Conflict> conflicts_;  // scratch
  std::vector<Part> parts_;          // scratch of touch_footprint() and touch_known()
};

}  // namespace streamsan::ordering
