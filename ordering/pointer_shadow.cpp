// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeping the lists of the pointer shadow short. As in the interval shadow, every reference holds one count of its
// access in the pool and is one entry of the counters.
#include "ordering/pointer_shadow.h"

#include <algorithm>
#include <bitset>
#include <utility>

namespace streamsan::ordering {
namespace {

/// Removes the references for which condition(reference) holds, keeping the order of the others. Returns their number.
template <typename Condition>
std::size_t drop_from(std::vector<PointerShadow::Reference>& history, Condition condition, AccessPool& pool,
                      ShadowCounters& counters) {
  const std::size_t dropped = std::erase_if(history, [&](const PointerShadow::Reference& reference) {
    if (!condition(reference)) return false;
    pool.release(reference.access);
    return true;
  });
  counters.entries -= dropped;
  return dropped;
}

}  // namespace

void PointerShadow::remember(const Remembered& access, const VectorClock& clock, AccessPool& pool,
                             ShadowCounters& counters) {
  History& history = histories_[access.access.range.begin];
  const FunctionId function = access.access.function;
  const bool write = writes(access.access);
  const bool surely_writes = access.access.mode == AccessMode::Write;
  // By place in the list. Asked once, and in one pass: this is what a launch costs most for.
  using Places = std::bitset<kMostPerPointer>;
  Places gone, others;
  std::size_t other_kernels = 0;
  const Reference* const earliest = history.data();
  const std::size_t count = history.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Reference& earlier = earliest[i];
    if ((!write && earlier.write) || !clock.covers(earlier.lane, earlier.epoch)) continue;
    if (access.access.conditional && !earlier.conditional) continue;
    if (earlier.function == function) {
      if (surely_writes || !earlier.surely_writes) gone.set(i);
    } else if (earlier.surely_writes == surely_writes) {
      others.set(i);
      ++other_kernels;
    }
  }
  static_assert(kKernelsKept > 0);
  for (std::size_t i = 0; other_kernels >= kKernelsKept; ++i) {
    if (!others[i]) continue;
    gone.set(i);
    --other_kernels;
  }
  if (gone.any()) {
    std::size_t place = 0;
    drop_from(history, [&](const Reference&) { return gone[place++]; }, pool, counters);
  }
  if (history.size() >= kMostPerPointer) {
    bool first = true;
    counters.forgotten +=
        drop_from(history, [&](const Reference&) { return std::exchange(first, false); }, pool, counters);
  }

  if (history.empty()) history.reserve(kKernelsKept);  // one allocation instead of three
  history.push_back(
      {access.epoch, access.lane, pool.add(access.access), function, write, surely_writes, access.access.conditional});
  ++counters.entries;
  note_newest(history.back(), clock, pool, counters);
  if (histories_.size() > kMostPointers) forget_older_half(pool, counters);
}

void PointerShadow::note_newest(const Reference& reference, const VectorClock& clock, AccessPool& pool,
                                ShadowCounters& counters) {
  pool.acquire(reference.access);
  Reference* last = nullptr;
  bool several = false;
  for (Reference& newest : newest_) {
    if (newest.lane != reference.lane || newest.write != reference.write) continue;
    several = last != nullptr;
    last = &newest;
  }
  // A kernel may overlap those in front of it in its stream: then these stay.
  const auto superseded = [&](const Reference& newest) {
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
        return newest.lane == reference.lane && newest.write == reference.write && newest.epoch != reference.epoch &&
               superseded(newest);
      },
      pool, counters);
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
  histories_.clear();
  drop_from(newest_, [](const Reference&) { return true; }, pool, counters);
}

}  // namespace streamsan::ordering
