// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeping the summary and the details of an allocation's shadow in step: every access in the details is covered by the
// summary, never the other way round (details may have been forgotten).
#include "ordering/shadow.h"

#include <algorithm>

namespace streamsan::ordering {

void Shadow::remember(const Remembered& access, Range whole, const VectorClock& clock, AccessPool& pool,
                      ShadowCounters& counters) {
  const AccessMode mode = access.access.mode;
  if (access.access.exact) {
    const Evidence known = evidence(access.access);
    const bool signals = may_signal(access.access);
    const bool replaces_all = mode == AccessMode::Write && known == Evidence::Sure && !signals && access.rows == 0 &&
                              access.access.range.contains(whole);
    if (replaces_all && !inferred_.empty() && all_before(mode, clock)) clear_details(pool, counters);
    const AccessPool::Index index = pool.add(access.access, access.rows);
    const IntervalShadow::Reference reference{access.epoch, access.lane, mode, known, signals, index};
    if (access.rows != 0) {
      sets_.remember(reference, clock, pool, counters);
    } else {
      sets_.supersede(access.access.range, reference, clock, pool, counters);
      exact_.remember(access.access.range, reference, clock, pool, counters);
    }
    pool.release(index);
  } else {
    inferred_.remember(access, clock, pool, counters);
  }
  auto use = std::find_if(uses_.begin(), uses_.end(), [&](const LaneUse& u) { return u.lane == access.lane; });
  if (use == uses_.end()) use = uses_.insert(uses_.end(), LaneUse{.lane = access.lane});
  (mode == AccessMode::Read ? use->read : mode == AccessMode::Atomic ? use->atomic : use->write) = access.epoch;
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
  if (!all_before(AccessMode::Write, clock)) return;
  clear(pool, counters);
}

void Shadow::forget_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters) {
  exact_.forget_covered(clock, pool, counters);
  sets_.forget_covered(clock, pool, counters);
  inferred_.forget_covered(clock, pool, counters);
  if (birth_ && clock.covers(birth_->lane, birth_->epoch)) birth_.reset();
  std::erase_if(uses_, [&](const LaneUse& use) {
    return clock.covers(use.lane, use.read) && clock.covers(use.lane, use.write) && clock.covers(use.lane, use.atomic);
  });
}

void Shadow::forget_older_half(AccessPool& pool, ShadowCounters& counters) {
  exact_.forget_older_half(pool, counters);
  sets_.forget_older_half(pool, counters);
  inferred_.forget_older_half(pool, counters);
}

void Shadow::clear(AccessPool& pool, ShadowCounters& counters) {
  birth_.reset();
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
