// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeping the lists of the pointer shadow short. As in the interval shadow, every reference holds one count of its
// access in the pool and is one entry of the counters.
#include "ordering/pointer_shadow.h"

#include <algorithm>

namespace streamsan::ordering {
namespace {

/// Removes the references for which condition(reference) holds, keeping the order of the others. Asks of each once, the
/// newest first. Returns their number.
template <typename Condition>
std::size_t drop_from(std::vector<PointerShadow::Reference>& history, Condition condition, AccessPool& pool,
                      ShadowCounters& counters) {
  auto kept = history.end();
  for (auto reference = history.end(); reference != history.begin();) {
    --reference;
    if (condition(*reference)) {
      pool.release(reference->access);
    } else if (--kept != reference) {
      *kept = *reference;
    }
  }
  const auto dropped = static_cast<std::size_t>(kept - history.begin());
  if (dropped == 0) return 0;
  history.erase(history.begin(), kept);
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
  const bool at_most_possible = is_at_most_possible(access.access);
  has_bounded_ |= access.access.bounded;
  // Asked once of each, the newest first, as the newest of other kernels stay: this is what a launch costs most for.
  static_assert(kKernelsKept > 0);
  std::size_t other_kernels = 0;
  const auto superseded = [&](const Reference& earlier) {
    if ((!write && earlier.write) || !clock.covers(earlier.lane, earlier.epoch)) return false;
    if (at_most_possible && !earlier.at_most_possible) return false;
    if (access.access.bounded && pool[earlier.access].range.end > access.access.range.end) return false;
    if (earlier.function == function) return surely_writes || !earlier.surely_writes;
    return earlier.surely_writes == surely_writes && ++other_kernels >= kKernelsKept;
  };
  drop_from(history, superseded, pool, counters);
  if (history.size() >= kMostPerPointer) {
    const Reference* const oldest = history.data();
    counters.forgotten += drop_from(history, [&](const Reference& each) { return &each == oldest; }, pool, counters);
  }

  if (history.empty()) history.reserve(kKernelsKept);  // one allocation instead of three
  history.push_back(
      {access.epoch, access.lane, pool.add(access.access), function, write, surely_writes, at_most_possible});
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
  has_bounded_ = false;
  drop_from(newest_, [](const Reference&) { return true; }, pool, counters);
}

}  // namespace streamsan::ordering
