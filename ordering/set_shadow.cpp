// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeping the list of the set shadow short. Every entry holds one count of its access in the pool. In the counters it
// weighs as many entries as its set has pieces, which is what bounds the memory of sets.
#include "ordering/set_shadow.h"

#include <algorithm>

namespace streamsan::ordering {

/// Returns the weight of what was dropped.
template <typename Condition>
std::uint64_t SetShadow::drop_if(Condition condition, AccessPool& pool, ShadowCounters& counters) {
  std::uint64_t dropped = 0;
  std::erase_if(entries_, [&](const Reference& entry) {
    if (!condition(entry)) return false;
    dropped += pool.weight(entry.access);
    pool.release(entry.access);
    return true;
  });
  counters.entries -= dropped;
  return dropped;
}

void SetShadow::remember(const Reference& access, const VectorClock& clock, AccessPool& pool,
                         ShadowCounters& counters) {
  const RowSets::Id set = pool.rows_of(access.access);
  drop_if(
      [&](const Reference& earlier) {
        return pool.rows_of(earlier.access) == set && stands_for(access, earlier) &&
               clock.covers(earlier.lane, earlier.epoch);
      },
      pool, counters);
  entries_.push_back(access);
  pool.acquire(access.access);
  counters.entries += pool.weight(access.access);
  if (entries_.size() > kMostSets) forget_older_half(pool, counters);
}

void SetShadow::supersede(Range range, const Reference& access, const VectorClock& clock, AccessPool& pool,
                          ShadowCounters& counters) {
  if (entries_.empty()) return;
  drop_if(
      [&](const Reference& earlier) {
        return range.contains(pool[earlier.access].range) && stands_for(access, earlier) &&
               clock.covers(earlier.lane, earlier.epoch);
      },
      pool, counters);
}

void SetShadow::forget_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters) {
  drop_if([&](const Reference& entry) { return clock.covers(entry.lane, entry.epoch); }, pool, counters);
}

void SetShadow::forget_older_half(AccessPool& pool, ShadowCounters& counters) {
  if (entries_.size() < 2) return;
  const std::size_t half = entries_.size() / 2;
  std::size_t passed = 0;
  counters.forgotten += drop_if([&](const Reference&) { return passed++ < half; }, pool, counters);
}

void SetShadow::drop_all(AccessPool& pool, ShadowCounters& counters) {
  drop_if([](const Reference&) { return true; }, pool, counters);
}

}  // namespace streamsan::ordering
