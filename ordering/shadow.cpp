// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeping the summary and the details of an allocation's shadow in step: every access in the details is covered by the
// summary, never the other way round (details may have been forgotten).
#include "ordering/shadow.h"

#include <algorithm>

namespace streamsan::ordering {

void Shadow::remember_exact(AccessPool::Index index, const Touch& touch, const Now& now, Range whole, AccessPool& pool,
                            ShadowCounters& counters) {
  const Evidence known = evidence(pool[index]);
  const bool signals = may_signal(pool[index]);
  const bool replaces_all = touch.mode == AccessMode::Write && known == Evidence::Sure && !signals && touch.rows == 0 &&
                            touch.range.contains(whole);
  if (replaces_all && !inferred_.empty() && all_before(touch.mode, now.clock)) clear_details(pool, counters);
  const IntervalShadow::Reference reference{now.epoch, now.lane, touch.mode, known, signals, index};
  if (touch.rows != 0) {
    sets_.remember(reference, now.clock, pool, counters);
  } else {
    sets_.supersede(touch.range, reference, now.clock, pool, counters);
    exact_.remember(touch.range, reference, now.clock, pool, counters);
  }
  pool.release(index);
}

bool Shadow::is_before(const LaneUse& use, AccessMode mode, const VectorClock& clock) {
  return clock.covers(use.lane, use.write) && (mode == AccessMode::Read || clock.covers(use.lane, use.read)) &&
         (mode == AccessMode::Atomic || clock.covers(use.lane, use.atomic));
}

bool Shadow::reaches_all(Range range, const Shadow& earlier, const AccessPool& pool) const {
  return std::all_of(earlier.uses_.begin(), earlier.uses_.end(), [&](const LaneUse& use) {
    bool reached = false;
    exact_.for_each_in(range, [&](Range segment, const IntervalShadow::Reference& access) {
      reached |= access.lane == use.lane && segment.contains(range) && access.evidence != Evidence::Widened;
    });
    for (const SetShadow::Reference& access : sets_.entries()) {
      reached |= access.lane == use.lane && access.evidence != Evidence::Widened &&
                 pool.rows.has_run_over(pool.rows_of(access.access), range);
    }
    inferred_.for_each_newest([&](const PointerShadow::Reference& access) {
      const Access& by = pool[access.access];
      const bool surely = by.mode != AccessMode::Doubtful && !is_at_most_possible(by);
      reached |= access.lane == use.lane && by.range.contains(range) && surely;
    });
    return reached;
  });
}

void Shadow::clear_if_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters) {
  if (empty() || !all_before(AccessMode::Write, clock)) return;
  clear(pool, counters);
}

void Shadow::forget_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters) {
  exact_.forget_covered(clock, pool, counters);
  sets_.forget_covered(clock, pool, counters);
  inferred_.forget_covered(clock, pool, counters);
  if (clock.covers(birth_.lane, birth_.epoch)) birth_.epoch = 0;
  uses_.erase_if([&](const LaneUse& use) {
    return clock.covers(use.lane, use.read) && clock.covers(use.lane, use.write) && clock.covers(use.lane, use.atomic);
  });
}

void Shadow::forget_older_half(AccessPool& pool, ShadowCounters& counters) {
  exact_.forget_older_half(pool, counters);
  sets_.forget_older_half(pool, counters);
  inferred_.forget_older_half(pool, counters);
}

void Shadow::clear(AccessPool& pool, ShadowCounters& counters) {
  birth_.epoch = 0;
  clear_details(pool, counters);
}

void Shadow::clear_details(AccessPool& pool, ShadowCounters& counters) {
  exact_.clear(pool, counters);
  sets_.clear(pool, counters);
  inferred_.clear(pool, counters);
  uses_.clear();
}

void Shadow::add_common(Later later, OpId earlier, AccessMode mode, const AccessPool& pool, std::vector<Range>& runs,
                        std::size_t most) const {
  const auto is_meant = [&](const IntervalShadow::Reference& reference) {
    return reference.mode == mode && pool[reference.access].op == earlier;
  };
  exact_.for_each_in(later.access.range, [&](Range segment, const IntervalShadow::Reference& reference) {
    if (!is_meant(reference) || runs.size() >= most) return;
    const Range common = intersection(segment, later.access.range);
    if (later.rows == 0) {
      runs.push_back(common);
    } else {
      pool.rows.add_rows_in(later.rows, common, runs, most);
    }
  });
  for (const SetShadow::Reference& reference : sets_.entries()) {
    if (!is_meant(reference)) continue;
    const RowSets::Id set = pool.rows_of(reference.access);
    if (later.rows == 0) {
      pool.rows.add_rows_in(set, later.access.range, runs, most);
    } else {
      pool.rows.add_common(set, later.rows, runs, most);
    }
  }
}

}  // namespace streamsan::ordering
