// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeping the lists of the pointer shadow short. As in the interval shadow, every reference holds one count of its
// access in the pool and is one entry of the counters.
#include "ordering/pointer_shadow.h"

#include <algorithm>
#include <array>

namespace streamsan::ordering {
namespace {

/// Removes the references for which condition(reference) holds. Returns their number.
template <typename Condition>
std::size_t drop_from(std::vector<PointerShadow::Reference>& references, Condition condition, AccessPool& pool,
                      ShadowCounters& counters) {
  const std::size_t dropped = std::erase_if(references, [&](const PointerShadow::Reference& reference) {
    if (!condition(reference)) return false;
    pool.release(reference.access);
    return true;
  });
  counters.entries -= dropped;
  return dropped;
}

}  // namespace

// This is what a launch costs most for. No two histories look alike, so that a branch for each reason would be
// predicted wrongly all the time: hence the arithmetic. Each reference is looked at once, and moved at most once.
template <typename StandsFor>
void PointerShadow::replace(History& history, const Reference& later, StandsFor stands_for, AccessPool& pool,
                            ShadowCounters& counters) {
  static_assert(kKernelsKept > 0);
  Reference* const begin = history.data();
  Reference* const end = begin + history.size();
  std::array<Reference*, kMostPerPointer> gone;  // the newest first
  std::size_t count = 0;
  const Writes least_of_others = later.writes == Writes::Surely ? Writes::Surely : Writes::No;
  std::uint32_t other_kernels = 0;
  for (std::size_t i = history.size(); i > 0; --i) {
    Reference* const earlier = begin + (i - 1);
    const std::uint32_t concerned = (earlier->writes <= later.writes) & stands_for(*earlier);
    const std::uint32_t same_kernel = earlier->function == later.function;
    const std::uint32_t other = concerned & (same_kernel ^ 1) & (earlier->writes >= least_of_others);
    other_kernels += other;
    gone[count] = earlier;
    count += concerned & (same_kernel | (other & (other_kernels >= kKernelsKept)));
  }
  counters.entries += 1 - count;
  if (count == 0) {
    history.push_back(later);
    return;
  }
  Reference* kept = gone[--count];
  pool.release(kept->access);
  for (const Reference* earlier = kept + 1; earlier != end; ++earlier) {
    if (count != 0 && gone[count - 1] == earlier) {
      pool.release(gone[--count]->access);
    } else {
      *kept++ = *earlier;
    }
  }
  *kept++ = later;
  if (kept != end) history.resize(static_cast<std::size_t>(kept - begin));
}

void PointerShadow::note_newest(const Reference& reference, const VectorClock& clock, AccessPool& pool,
                                ShadowCounters& counters) {
  pool.acquire(reference.access);
  const bool reads = reference.writes == Writes::No;
  Reference* last = nullptr;
  bool several = false;
  for (Reference& newest : newest_) {
    if (newest.lane != reference.lane || (newest.writes == Writes::No) != reads) continue;
    several = last != nullptr;
    last = &newest;
  }
  // A kernel may overlap those in front of it in its stream: then these stay.
  const auto superseded = [&](const Reference& newest) {
    if (reference.at_most_possible && !newest.at_most_possible) return false;
    return newest.epoch == reference.epoch || clock.covers(newest.lane, newest.epoch);
  };
  if (last && superseded(*last)) {
    pool.release(last->access);
    *last = reference;
  } else {
    newest_.push_back(reference);
    ++counters.entries;
  }
  if (!several) return;
  drop_from(
      newest_,
      [&](const Reference& newest) {
        return newest.lane == reference.lane && (newest.writes == Writes::No) == reads &&
               newest.epoch != reference.epoch && superseded(newest);
      },
      pool, counters);
}

void PointerShadow::remember(const Touch& touch, const Reference& later, const VectorClock& clock, AccessPool& pool,
                             ShadowCounters& counters) {
  has_bounded_ |= touch.bounded;
  History& history = histories_[touch.range.begin];
  if (history.empty()) {
    history.reserve(kKernelsKept);  // one allocation instead of three
    history.push_back(later);
    ++counters.entries;
  } else if (!touch.bounded && !later.at_most_possible && !clock.has_deviations()) [[likely]] {
    replace(
        history, later,
        [known = clock.base()](const Reference& earlier) {
          return earlier.lane < known.size() && known[earlier.lane] >= earlier.epoch;
        },
        pool, counters);
  } else {
    replace(
        history, later,
        [&](const Reference& earlier) {
          return clock.covers(earlier.lane, earlier.epoch) && (!later.at_most_possible || earlier.at_most_possible) &&
                 (!touch.bounded || pool[earlier.access].range.end <= touch.range.end);
        },
        pool, counters);
  }
  if (history.size() > kMostPerPointer) {
    pool.release(history.front().access);
    history.erase(history.begin());
    --counters.entries;
    ++counters.forgotten;
  }
  note_newest(later, clock, pool, counters);
  if (histories_.size() > kMostPointers) forget_older_half(pool, counters);
}

/// Removes the references for which condition(reference) holds, and pointers left without any.
template <typename Condition>
std::uint64_t PointerShadow::drop_if(Condition condition, AccessPool& pool, ShadowCounters& counters) {
  std::uint64_t dropped = 0;
  std::vector<Address> empty;
  histories_.for_each([&](Address pointer, History& history) {
    dropped += drop_from(history, condition, pool, counters);
    if (history.empty()) empty.push_back(pointer);
  });
  for (const Address pointer : empty) histories_.erase(pointer);
  has_bounded_ &= histories_.size() != 0;
  return dropped + drop_from(newest_, condition, pool, counters);
}

void PointerShadow::forget_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters) {
  drop_if([&](const Reference& reference) { return clock.covers(reference.lane, reference.epoch); }, pool, counters);
}

void PointerShadow::forget_older_half(AccessPool& pool, ShadowCounters& counters) {
  std::vector<OpId> ages;
  ages.reserve(histories_.size());
  histories_.for_each([&](Address, const History& history) { ages.push_back(pool[history.back().access].op); });
  if (ages.size() < 2) return;
  const auto middle = ages.begin() + static_cast<std::ptrdiff_t>(ages.size() / 2);
  std::nth_element(ages.begin(), middle, ages.end());
  const OpId oldest_kept = *middle;
  counters.forgotten +=
      drop_if([&](const Reference& reference) { return pool[reference.access].op < oldest_kept; }, pool, counters);
}

void PointerShadow::clear(AccessPool& pool, ShadowCounters& counters) {
  histories_.for_each([&](Address, const History& history) {
    for (const Reference& reference : history) pool.release(reference.access);
    counters.entries -= history.size();
  });
  // What comes next is mostly more of the same, so that little memory is kept for it.
  histories_.clear_small([](History& history) {
    history.clear();
    if (history.capacity() > 2 * kKernelsKept) history.shrink_to_fit();
  });
  has_bounded_ = false;
  for (const Reference& newest : newest_) pool.release(newest.access);
  counters.entries -= newest_.size();
  newest_.clear();
}

}  // namespace streamsan::ordering
