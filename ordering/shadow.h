// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shadow of one allocation: every access that a later one could race with, and a summary of them.
//
// An interval map holds the exact accesses, a list those of many rows, and a table by pointer the inferred ones. The
// stream-ordered allocation itself is kept apart, since it precedes everything. Before all these comes the summary: for
// each lane, the newest read, the newest write and the newest atomic access of any byte. A lane's operations are
// ordered, so a clock that covers those covers all accesses of the lane, and the common case, where everything earlier
// is ordered before the new access, costs one compare for each lane that ever used the allocation. Only an access that
// the summary cannot clear looks at the details.
//
// Memory stays bounded by dropping what can no longer race: when the host is known to have waited for everything here,
// or an exact write of the whole allocation comes after everything here, the details are cleared at once.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "ordering/access_pool.h"
#include "ordering/interval_shadow.h"
#include "ordering/plain_list.h"
#include "ordering/pointer_shadow.h"
#include "ordering/set_shadow.h"

namespace streamsan::ordering {

class Shadow {
 public:
  /// R-SOA-01: the allocation is itself an operation of a stream, and writes all bytes.
  void born(const Remembered& allocation) { birth_ = allocation; }

  [[nodiscard]] bool empty() const { return uses_.empty() && !is_born(); }

  /// The last access of the only lane that used the memory; epoch 0: there was none, or another lane.
  struct Use {
    LaneSlot lane = 0;
    Epoch epoch = 0;
  };
  [[nodiscard]] Use only_use() const {
    return uses_.size() == 1 && !is_born() ? Use{uses_[0].lane, uses_[0].newest} : Use{};
  }

  /// Which earlier accesses the summary alone shows to be known to a clock.
  enum class Known : std::uint8_t { Few, Conflicting, All };
  [[nodiscard, gnu::always_inline]] Known known(AccessMode mode, const VectorClock& clock) const {
    Known known = Known::All;
    for (const LaneUse& use : uses_) {
      if (clock.covers(use.lane, use.newest)) continue;
      if (!is_before(use, mode, clock)) return Known::Few;
      known = Known::Conflicting;
    }
    return clock.covers(birth_.lane, birth_.epoch) ? known : Known::Few;
  }

  /// Does the summary alone show that every earlier access that conflicts is known to `clock`?
  [[nodiscard, gnu::always_inline]] bool all_before(AccessMode mode, const VectorClock& clock) const {
    return known(mode, clock) != Known::Few;
  }

  /// Did every lane that used the memory of `earlier` reach all bytes of the range here, for certain?
  [[nodiscard]] bool reaches_all(Range range, const Shadow& earlier, const AccessPool& pool) const;

  /// An access with the set of its bytes, if they are many rows; 0: its range are its bytes.
  struct Later {
    const Access& access;
    RowSets::Id rows = 0;
  };

  /// Calls visit(lane, epoch, access, meeting) for earlier accesses that conflict with the later one and are not known
  /// to `clock`: at least those that decide, for each lane, whether something is unordered and how certainly. Inferred
  /// ones, of which there may be many, only if `also_inferred`. The meeting has the row of each, or the range of an
  /// access without rows, and common bytes.
  template <typename Visit>
  void for_each_unordered(Later later_one, bool also_inferred, const VectorClock& clock, const AccessPool& pool,
                          Visit visit) const {
    const Access& later = later_one.access;
    const RowSets::Id rows = later_one.rows;
    /// `bytes`: those of the earlier one that count.
    const auto meets = [&](const auto& earlier, Range bytes) -> std::optional<Meeting> {
      const Range whole = pool[earlier.access].range;
      const std::optional<Range> row = rows == 0 ? later.range : pool.rows.row_in(rows, bytes);
      if (!row) return std::nullopt;
      return Meeting{whole, *row, intersection(bytes, *row)};
    };
    const auto consider = [&](const auto& earlier, AccessMode mode, auto meeting) {
      if (!conflict(mode, later.mode) || clock.covers(earlier.lane, earlier.epoch)) return;
      if (const std::optional<Meeting> met = meeting()) {
        visit(earlier.lane, earlier.epoch, pool[earlier.access], *met);
      }
    };
    const auto consider_inferred = [&](const PointerShadow::Reference& earlier) {
      consider(earlier, earlier.writes == PointerShadow::Writes::No ? AccessMode::Read : AccessMode::Unknown,
               [&]() -> std::optional<Meeting> {
                 const Range reach = pool[earlier.access].range;
                 const std::optional<Range> row =
                     rows == 0 ? later.range : row_reached(pool.rows, rows, pool[earlier.access]);
                 if (!row) return std::nullopt;
                 return Meeting{reach, *row, intersection(reach, *row)};
               });
    };
    if (!clock.covers(birth_.lane, birth_.epoch)) {
      const Range life = birth_.access.range;
      const std::optional<Range> row = rows == 0 ? later.range : pool.rows.row_in(rows, life);
      if (row) visit(birth_.lane, birth_.epoch, birth_.access, Meeting{life, *row, intersection(life, *row)});
    }
    exact_.for_each_in(later.range, [&](Range segment, const auto& earlier) {
      consider(earlier, earlier.mode, [&] { return meets(earlier, segment); });
    });
    for (const SetShadow::Reference& earlier : sets_.entries()) {
      consider(earlier, earlier.mode, [&]() -> std::optional<Meeting> {
        const RowSets::Id set = pool.rows_of(earlier.access);
        if (rows != 0) return pool.rows.meeting(set, rows);
        const std::optional<Range> row =
            later.exact ? pool.rows.row_in(set, later.range) : row_reached(pool.rows, set, later);
        if (!row) return std::nullopt;
        return Meeting{*row, later.range, intersection(*row, later.range)};
      });
    }
    if (!also_inferred) return;
    if (later.exact || later.bounded || inferred_.has_bounded()) {
      inferred_.for_each_below(later.range.end, consider_inferred);
    } else {
      inferred_.for_each_deciding(later.range.begin, consider_inferred);
    }
  }

  /// Adds the bytes that both touch, the later one and the exact accesses in `mode` of the earlier operation, until
  /// `runs` has `most`.
  void add_common(Later later, OpId earlier, AccessMode mode, const AccessPool& pool, std::vector<Range>& runs,
                  std::size_t most) const;

  /// The place of an access in time, and its documented clock.
  struct Now {
    LaneSlot lane = 0;
    Epoch epoch = 0;
    std::uint64_t moment = 0;
    const VectorClock& clock;
  };
  /// Adds an exact access, which touches `touch`. `whole` is the range of the allocation.
  void remember(const Access& access, const Touch& touch, const Now& now, Range whole, AccessPool& pool,
                ShadowCounters& counters) {
    remember_exact(pool.add(access, touch, now.moment), touch, now, whole, pool, counters);
    note_use(touch.mode, now);
  }
  /// Adds an inferred one. `knows_all`: known() of its clock is All.
  [[gnu::always_inline]] void remember_pointer(const Access& access, const Touch& touch, const Now& now, bool knows_all,
                                               AccessPool& pool, ShadowCounters& counters) {
    const AccessPool::Index index = pool.add(access, touch, now.moment);
    inferred_.remember(
        touch,
        {now.epoch, now.lane, index, access.function, PointerShadow::writes(touch.mode), is_at_most_possible(access)},
        now.clock, knows_all, pool, counters);
    note_use(touch.mode, now);
  }

  /// Drops everything if `clock`, which every later access starts after, covers it.
  void clear_if_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters);
  /// Drops what `clock` covers, piece by piece: for when memory is short.
  void forget_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters);
  void forget_older_half(AccessPool& pool, ShadowCounters& counters);
  void clear(AccessPool& pool, ShadowCounters& counters);

  /// The host's version at the last clear_if_covered(): a caller need not ask again before it changes.
  std::uint64_t cleared_at_version = 0;

 private:
  struct LaneUse {
    LaneSlot lane = 0;
    Epoch read = 0;
    Epoch write = 0;  ///< or an inferred access that may write
    Epoch atomic = 0;
    Epoch newest = 0;  ///< of these
  };

  /// The row that decides how certainly an inferred access meets the set.
  static std::optional<Range> row_reached(const RowSets& rows, RowSets::Id set, const Access& inferred) {
    if (inferred.bounded) return rows.row_in(set, inferred.range);
    return rows.row_facing(set, inferred.range.begin);
  }

  [[gnu::always_inline]] void note_use(AccessMode mode, const Now& now) {
    std::size_t i = 0;
    while (i < uses_.size() && uses_[i].lane != now.lane) ++i;
    if (i == uses_.size()) uses_.push_back({.lane = now.lane});
    LaneUse& use = uses_[i];
    (mode == AccessMode::Read ? use.read : mode == AccessMode::Atomic ? use.atomic : use.write) = now.epoch;
    use.newest = std::max(use.newest, now.epoch);
  }
  void remember_exact(AccessPool::Index index, const Touch& touch, const Now& now, Range whole, AccessPool& pool,
                      ShadowCounters& counters);
  /// What all_before() asks of each lane.
  static bool is_before(const LaneUse& use, AccessMode mode, const VectorClock& clock);
  [[nodiscard]] bool is_born() const { return birth_.epoch != 0; }
  void clear_details(AccessPool& pool, ShadowCounters& counters);

  PlainList<LaneUse> uses_;
  Remembered birth_;  ///< epoch 0: none
  IntervalShadow exact_;
  SetShadow sets_;
  PointerShadow inferred_;
};

}  // namespace streamsan::ordering
