// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeping the lists of the pointer shadow short. As in the interval shadow, every reference holds one count of its
// access in the pool and is one entry of the counters.
#include "ordering/pointer_shadow.h"

#include <algorithm>
#include <bit>

namespace streamsan::ordering {
namespace {

/// Removes the references for which condition(reference) holds. Returns their number.
template <typename Condition>
std::size_t drop_from(PlainList<PointerShadow::Reference>& references, Condition condition, AccessPool& pool,
                      ShadowCounters& counters) {
  const std::size_t dropped = references.erase_if([&](const PointerShadow::Reference& reference) {
    if (!condition(reference)) return false;
    pool.release(reference.access);
    return true;
  });
  counters.entries -= dropped;
  return dropped;
}

}  // namespace

// This is what a launch costs most for. No two histories look alike, so that a branch for each reason would be
// predicted wrongly all the time: hence the arithmetic, with a bit for each reference, the newest in the lowest.
template <typename StandsFor>
[[gnu::always_inline]] inline PointerShadow::Kept PointerShadow::drop_replaced(
    std::span<Reference> references, const Reference& later, StandsFor stands_for, std::size_t others_to_keep,
    AccessPool& pool, ShadowCounters& counters) {
  Reference* const end = references.data() + references.size();
  // The writes of what may go: of the same kernel all up to the later one's; of others only Surely for Surely.
  const bool surely = later.writes == Writes::Surely;
  const auto least = static_cast<std::uint32_t>(surely ? Writes::Surely : Writes::No);
  const std::uint32_t modes = static_cast<std::uint32_t>(later.writes) - least;
  std::uint64_t same_kernel = 0;
  std::uint64_t others = 0;
  for (const Reference* earlier = references.data(); earlier != end; ++earlier) {
    const bool stands = stands_for(*earlier);
    same_kernel = same_kernel * 2 + (stands & (earlier->function == later.function));
    others = others * 2 + (stands & (static_cast<std::uint32_t>(earlier->writes) - least <= modes));
  }
  const std::uint64_t same_that_go = surely ? same_kernel : same_kernel & others;
  others &= ~same_kernel;
  std::uint64_t gone = others;
  for (std::size_t i = 0; i < others_to_keep; ++i) gone &= gone - 1;
  gone |= same_that_go;
  if (gone == 0) return {end, others};
  const int newer = std::countl_zero(gone);
  Reference* kept = end - (64 - newer);
  gone <<= newer;
  for (const Reference* earlier = kept; earlier != end; ++earlier, gone *= 2) {
    if (gone >> 63 != 0) {
      pool.release(earlier->access);
      --counters.entries;
    } else {
      *kept++ = *earlier;
    }
  }
  return {kept, others};
}

template <typename StandsFor>
[[gnu::noinline]] void PointerShadow::replace(History& history, const Reference& later, StandsFor stands_for,
                                              AccessPool& pool, ShadowCounters& counters) {
  const std::span<Reference> all = history;
  const std::size_t older = all.size() > kAtOnce ? all.size() - kAtOnce : 0;
  const auto [end, others] = drop_replaced(all.subspan(older), later, stands_for, kKernelsKept - 1, pool, counters);
  Reference* kept = end;
  if (older != 0) {
    const auto more = std::min<std::size_t>(kKernelsKept - 1, std::popcount(others));
    Reference* const to =
        drop_replaced(all.first(older), later, stands_for, kKernelsKept - 1 - more, pool, counters).end;
    if (to != all.data() + older) kept = std::move(all.data() + older, end, to);
  }
  history.truncate(static_cast<std::size_t>(kept - all.data()));
  history.push_back(later);
  ++counters.entries;
  if (history.size() > kMostPerPointer) {
    pool.release(history.front().access);
    std::move(history.begin() + 1, history.end(), history.begin());
    history.truncate(history.size() - 1);
    --counters.entries;
    ++counters.forgotten;
  }
}

[[gnu::always_inline]] inline void PointerShadow::replace_known(History& history, const Reference& later,
                                                                AccessPool& pool, ShadowCounters& counters) {
  Reference* const end = history.data() + history.size();
  const auto all = [](const Reference&) { return true; };
  Reference* const kept = drop_replaced(history, later, all, kKernelsKept - 1, pool, counters).end;
  ++counters.entries;
  if (kept == end) return history.push_back(later);
  *kept = later;
  history.truncate(static_cast<std::size_t>(kept + 1 - history.data()));
}

PointerShadow::History& PointerShadow::begin(Address pointer) {
  History& history = histories_.add(pointer);
  history.reserve(kKernelsKept);  // one allocation instead of three
  return history;
}

[[gnu::always_inline]] inline void PointerShadow::note_newest(const Reference& reference, const VectorClock& clock,
                                                              AccessPool& pool, ShadowCounters& counters) {
  pool.acquire(reference.access);
  const auto is_alike = [&](const Reference& newest) {
    return newest.lane == reference.lane && (newest.writes == Writes::No) == (reference.writes == Writes::No);
  };
  Reference* last = nullptr;
  bool several = false;
  for (Reference& newest : newest_) {
    if (!is_alike(newest)) continue;
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
        return is_alike(newest) && newest.epoch != reference.epoch && superseded(newest);
      },
      pool, counters);
}

void PointerShadow::remember(const Touch& touch, const Reference& later, const VectorClock& clock, bool knows_all,
                             AccessPool& pool, ShadowCounters& counters) {
  has_bounded_ |= touch.bounded;
  History* const history = histories_.find(touch.range.begin);
  if (!history) {
    begin(touch.range.begin).push_back(later);
    ++counters.entries;
    if (histories_.size() > kMostPointers) [[unlikely]] {
      note_newest(later, clock, pool, counters);
      return forget_older_half(pool, counters);
    }
  } else if (knows_all && !touch.bounded && !later.at_most_possible && history->size() <= kAtOnce) [[likely]] {
    replace_known(*history, later, pool, counters);
  } else {
    replace(
        *history, later,
        [&](const Reference& earlier) {
          return clock.covers(earlier.lane, earlier.epoch) && (!later.at_most_possible || earlier.at_most_possible) &&
                 (!touch.bounded || pool[earlier.access].range.end <= touch.range.end);
        },
        pool, counters);
  }
  note_newest(later, clock, pool, counters);
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
    if (history.capacity() > 2 * kKernelsKept) history.reset();
  });
  has_bounded_ = false;
  for (const Reference& newest : newest_) pool.release(newest.access);
  counters.entries -= newest_.size();
  newest_.clear();
}

}  // namespace streamsan::ordering
