// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state behind a Model, and the three steps of every call:
//   begin()  an operation takes its place in its stream: it joins what its thread knows (R-CORE-01), what the legacy
//            barrier puts before it (R-STR-10), and gets its epoch (R-CORE-02);
//   touch()  an access is compared with the shadow of its allocation, hazards go to the sink, and it is remembered;
//   learn()  a host thread gets to know that something is complete.
// The public calls are in model_streams.cpp, model_memory.cpp, model_operations.cpp, model_order.cpp, model_host.cpp
// and model_blocks.cpp; the bytes of copies and kernels in model_pieces.cpp; what is done with memory after its end in
// model_lifetimes.cpp.
//
// A call on a stream, event or address that the model does not know is not an error: the program may do anything, and
// the trace may start late. Such a call has no effect and gives no report.
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
#include "ordering/freed_lives.h"
#include "ordering/keyed_clocks.h"
#include "ordering/lanes.h"
#include "ordering/loans.h"
#include "ordering/model.h"
#include "ordering/retired_blocks.h"
#include "ordering/variants.h"

namespace streamsan::ordering {

struct Event {
  bool recorded = false;
  TwoClocks captured;  ///< R-EVT-01: what the last record captured
  StreamId source{};
  LaneSlot source_slot = 0;
  EventCall record;
};

/// The end of a life, and what it makes of later uses.
struct Ended {
  AllocationInfo info;
  Access free;
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
};

struct HostThread {
  HostClock* host = nullptr;
  Pending pending;
  DeviceWait device_wait;  ///< the last one, for explanations
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

/// Bytes that an access touches in one way. A kernel touches several, in several ways.
struct Part {
  Allocation* allocation = nullptr;
  Range range;
  AccessMode mode = AccessMode::Read;
  bool widened = false;
  RowSets::Id rows = 0;  ///< 0, or the bytes, and the range is their hull
};

/// A pattern that lies in an allocation, before the patterns of one way are put together.
struct Piece {
  Allocation* allocation = nullptr;
  Address whole = 0;   ///< where the allocation begins; and with it, perhaps, a block
  bool block = false;  ///< it is one
  Footprint bytes;
  AccessMode mode = AccessMode::Read;
  bool widened = false;
};

/// A place in the order at which a block is handed out or comes back.
struct Point {
  OpId op{};
  LaneSlot lane = 0;
  const TwoClocks& clock;
};

struct Model::Impl {
  Impl(Options options, HazardSink& hazard_sink, const WhatIf* what_if);

  Options options;
  HazardSink& sink;
  std::optional<Variants> variants;  ///< of a what-if

  Lanes lanes;
  Contexts contexts{lanes};
  std::deque<HostClock> hosts;  // addresses stay valid
  FlatMap<HostThread> threads;
  FlatMap<LaneSlot> streams;
  FlatMap<Event> events;
  KeyedClocks graphs;   ///< R-GRF-35: by executable graph, its last launch
  KeyedClocks objects;  ///< by object, what was signalled

  Allocations allocations;
  Allocations blocks;  ///< each lies over the allocations, and takes the accesses to its bytes
  RetiredBlocks retired;
  std::uint64_t retired_pruned_at = 0;  ///< version of the host clock
  FreedLives freed;
  Loans loans;
  AccessPool pool;
  ShadowCounters shadow;
  Assumptions assumptions;
  VectorClock told;  ///< R-HST-06: work whose end host functions submitted so far may have signalled

  std::uint32_t last_stream = 0;
  std::uint32_t last_event = 0;
  std::uint64_t last_op = 0;
  std::uint64_t last_allocation = 0;
  std::uint64_t accesses = 0;
  std::uint64_t hazards = 0;

  [[nodiscard]] bool joined() const { return options.host_threads == Options::HostThreads::Joined; }
  HostThread& thread(ThreadId id);
  HostClock& host(ThreadId id) { return *thread(id).host; }
  [[nodiscard]] Lane* lane(StreamId stream);
  [[nodiscard]] OpId next_op() { return OpId{++last_op}; }
  [[nodiscard]] AllocationId next_allocation() { return AllocationId{++last_allocation}; }
  /// The thread makes a call: whatever it still waited for is over.
  HostThread& calling(const Call& call);

  StreamId open_stream(ContextId context, StreamKind kind, ThreadId thread);

  /// The next operation of the stream begins: joins what the legacy barrier puts before it.
  void enter(const Call& call, Lane& lane, LegacyRole role);
  OpId begin(Call call, Lane& lane, LegacyRole role);
  /// R-CPY-40: the copy is an action of other devices' legacy streams, too.
  OpId begin_between(Call call, Lane& lane, std::span<Lane* const> peers);
  /// Those streams; where a side lies on a device that is not known, of all devices.
  [[nodiscard]] std::vector<Lane*> peers_of(const Lane& lane, Address dst, Address src);
  void learn(HostClock& host, const TwoClocks& clocks);

  // model_what_if.cpp: what the variants of a what-if need beside their clocks
  /// As contexts.enter().
  void enter_among(const Call& call, Lane& lane, LegacyRole role);
  /// The operation's barrier, in those among whom it is made, has put behind the lane what was not in `before`.
  void tell_barrier(const Lane& lane, const VectorClock& before, const Among& among, OpId op);
  /// The thread makes a call at a place that a wait may have been moved to.
  void arrive(const Call& call) {
    if (variants) make_moved_waits(call);
  }
  void make_moved_waits(const Call& call);
  /// Did the base know all that before? Then a query that succeeded in the base may fail in a program that had not
  /// waited.
  [[nodiscard]] bool knew(const HostClock& host, const TwoClocks& clocks) const;
  /// As learn(), of what the call at the site makes known.
  void learn_at(SiteId site, HostClock& host, const TwoClocks& learns);
  void apply(Put& put, HostClock& host, const TwoClocks& learns);
  /// Reports to the what-if how the variants order the conflict with an earlier access. Returns how the base does.
  PairOrder tell_pair(LaneSlot lane, Epoch epoch, Pair& pair, bool staged, const TwoClocks& clock);
  /// The operation is one that the host may wait for: remembers it. `range`: of host memory.
  void mark(Lane& lane, OpId op, SiteId site, Exposure::Why why, Range range = {},
            MemoryKind memory = MemoryKind::Pageable);
  /// Reports it for the variant.
  void expose(Exposure exposure, VariantId variant);
  /// The copy's wait tells the host that the source may be overwritten; without the wait the host would not know.
  void expose_source(const Lane& lane, OpId op, SiteId site, Range source);
  /// The operation may touch anything: marks it, and reports the variants in which it is after fewer operations.
  void mark_unbounded(Lane& lane, OpId op, SiteId site, Exposure::Why why);
  void mark_work(Lane& lane, OpId op, SiteId site);
  /// What the last operation of the lane does to memory of the host's.
  void mark_access(Lane& lane, OpId op, SiteId site, Range range, AccessMode mode);

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
  /// The part of the model that holds the address: a block, or else an allocation, or else nullptr.
  [[nodiscard]] Allocation* holder(Address address) {
    Allocation* block = blocks.live() == 0 ? nullptr : blocks.find(address);
    return block ? block : allocations.find(address);
  }
  /// Calls visit(holder, its part of the range) for all bytes of the range that something holds, by address.
  template <typename Visit>
  void for_each_held(Range range, Visit visit);

  /// The end of an allocation and of the blocks in it: everything before it must be complete.
  void check_end(Allocation& allocation, const Access& free, const Actor& actor);
  void end(Allocation& allocation);
  void end_overlapping(Range range);

  /// Ends the live blocks that overlap the range, without a hazard and without a trace.
  void end_blocks(Range range);
  /// Where the stream, or else the host thread, is now; nullopt: no such stream.
  std::optional<Point> point(Call call, std::optional<StreamId> stream);
  Allocation& begin_block(Call call, Range range);
  /// What the pool waits for by itself before it hands the block out again.
  [[nodiscard]] TwoClocks waited_for(const Allocation& block);
  void retire(Allocation& block, const TwoClocks& waited, SiteId freed_at, const HostClock& host);
  /// Compares with what is past in an earlier life, of which the hazard names `named`.
  void collect_retired(const RetiredBlock& life, const AllocationInfo& named, const Access& access, const Actor& actor);
  void prune_retired(const HostClock& host);

  /// The block goes back, or bytes are handed out again: compares with the accesses of the life that ends, or of those
  /// that ended before.
  void check_release(const Allocation& block, const TwoClocks& waited, const Access& access, const Actor& actor);
  void check_reuse(const Access& access, const Actor& actor);
  /// The host frees the range: compares with the copies that borrowed from it.
  void check_loans(const Access& access, const Actor& actor);

  /// A free has returned: remembers what was freed, unless something lives there by now.
  void keep_freed(const Ended& ended);
  /// Nothing holds the bytes: perhaps something did (R-SOA-04). The access's own range and mode are used.
  void touch_freed(const Access& access);
  /// The calls succeeded, so the address leads to something: the free of a life that was kept, if so.
  void report_second_free(const Access& access);
  void report_use(FreedLife& life, const Access& access, Certainty certainty);
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
    HazardKind kind{};
    AllocationInfo allocation;
    SiteId freed{};
    std::optional<Rule> leaned_on{};  ///< known already
  };
  /// Earlier accesses, and how a hazard with one of them is reported.
  struct Past {
    const Shadow& shadow;
    const AllocationInfo& allocation;
    SiteId freed{};
    bool released = false;  ///< the later access is a block's return to its pool
    /// The later access is made in this later life of the bytes, and not at its beginning.
    const AllocationInfo* reused_by = nullptr;
  };

  /// Compares the access with what is past and keeps the conflicts for report().
  void collect(const Past& past, Shadow::Later later, bool also_inferred, const Actor& actor);
  /// The place of a conflict with the lane, unless one as bad and newer is there.
  Conflict* place_of(LaneSlot lane, Order order, Certainty certainty, OpId earlier);
  /// The same for what one operation touches of an allocation. Changes the access's range, mode and width.
  void collect_parts(const Past& past, Access& access, std::span<const Part> parts, const Actor& actor);
  /// Accesses of the earlier lives of a block for which the pool named no stream.
  void collect_earlier_lives(Allocation& block, Access& access, std::span<const Part> parts, const Actor& actor);
  void report(const Actor& actor);
  void stay_bounded();
  // model_pieces.cpp
  /// Adds what the footprint touches to pieces_. False: nothing holds its first byte.
  bool add_pieces(const Footprint& footprint, AccessMode mode, bool widened);
  void add_rows(const Footprint& footprint, AccessMode mode, bool widened);
  /// What pieces of one allocation touch in one way.
  void add_part(std::span<const Piece> pieces);
  void touch_pieces(const Access& access, const Actor& actor);

  std::vector<Conflict> conflicts_;     // scratch
  std::vector<InVariant> in_variants_;  // scratch of tell_pair()
  std::vector<Piece> pieces_;           // scratch of touch_footprint() and touch_known()
  std::vector<Part> parts_;             // scratch of touch_pieces()
  std::vector<Footprint> patterns_;     // scratch of add_part()
};

template <typename Visit>
void Model::Impl::for_each_held(Range range, Visit visit) {
  while (!range.empty()) {
    Allocation* block = blocks.live() == 0 ? nullptr : blocks.find_first_ending_after(range.begin);
    if (block && block->info.range.begin <= range.begin) {
      const Range part = intersection(range, block->info.range);
      visit(*block, part);
      range.begin = part.end;
      continue;
    }
    const Range before_block{range.begin,
                             block && block->info.range.begin < range.end ? block->info.range.begin : range.end};
    Allocation* outer = allocations.find_first_ending_after(range.begin);
    if (!outer || outer->info.range.begin >= before_block.end) {
      range.begin = before_block.end;
      continue;
    }
    const Range part = intersection(before_block, outer->info.range);
    visit(*outer, part);
    range.begin = part.end;
  }
}

}  // namespace streamsan::ordering
