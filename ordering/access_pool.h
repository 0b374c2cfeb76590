// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remembered accesses, and the store through which the segments of an interval map share them.
//
// Many segments may remember one access, after later accesses have cut its range into parts. Each segment then holds a
// small reference (where and when, which is all that ordering needs). The full description, which only a report needs,
// is here once, with a reference count. The pool grows to the greatest number of accesses remembered at one time and
// reuses its entries from then on. If an access touches many rows, it holds them as a set (row_sets.h), and its range
// is their hull.
#pragma once

#include <cstdint>
#include <vector>

#include "ordering/hazard.h"
#include "ordering/row_sets.h"
#include "ordering/two_clocks.h"

namespace streamsan::ordering {

/// An access with its place in time: operation `epoch` of lane `lane`.
struct Remembered {
  LaneSlot lane = 0;
  Epoch epoch = 0;
  Access access;
};

/// What an access touches, and how: all in which the accesses of one operation to one allocation differ. The fields are
/// those of Access.
struct Touch {
  Range range;
  AccessMode mode = AccessMode::Read;
  bool widened = false;
  bool bounded = false;
  bool parted = false;
  RowSets::Id rows = 0;  ///< 0, or the bytes, and the range is their hull

  void put_into(Access& access) const {
    access.range = range;
    access.mode = mode;
    access.widened = widened;
    access.bounded = bounded;
    access.parted = parted;
  }
};

/// In the name of a hazard.
inline bool writes(const Access& access) { return access.mode != AccessMode::Read; }

/// How many accesses all shadows of one model remember, and how many were dropped to stay bounded.
struct ShadowCounters {
  std::uint64_t entries = 0;
  std::uint64_t forgotten = 0;
};

class AccessPool {
 public:
  using Index = std::uint32_t;

  /// Stores the access, but for what it touches and when, with a count of one, for the caller.
  Index add(const Access& access, const Touch& touch, std::uint64_t moment = Access::kNeverSeen) {
    if (touch.rows != 0) rows.acquire(touch.rows);
    if (first_free_ == kNone) [[unlikely]]
      grow();
    const Index index = first_free_;
    first_free_ = holders_[index].next_free;
    ++live_;
    // The one copy on the way of an access into the shadow, changed where it lies: a copy of what was written a moment
    // ago, in smaller pieces, makes a processor wait.
    Access& stored = accesses_[index];
    stored = access;
    touch.put_into(stored);
    stored.moment = moment;
    holders_[index] = {1, touch.rows, kNone};
    return index;
  }
  void acquire(Index index) { ++holders_[index].count; }
  [[gnu::always_inline]] void release(Index index) {
    if (--holders_[index].count == 0) reclaim(index);
  }
  [[nodiscard]] const Access& operator[](Index index) const { return accesses_[index]; }
  [[nodiscard]] RowSets::Id rows_of(Index index) const { return holders_[index].rows; }
  /// How much memory the access keeps, in pieces.
  [[nodiscard]] std::uint64_t weight(Index index) const {
    return holders_[index].rows == 0 ? 1 : rows.pieces(holders_[index].rows);
  }
  [[nodiscard]] std::size_t live() const { return live_; }

  RowSets rows;

 private:
  static constexpr Index kNone = ~Index{0};

  void reclaim(Index index) {
    const RowSets::Id set = holders_[index].rows;
    holders_[index].next_free = first_free_;
    first_free_ = index;
    --live_;
    // The next access goes there, and nobody has looked at the place for long.
    __builtin_prefetch(&accesses_[index], 1);
    __builtin_prefetch(reinterpret_cast<const char*>(&accesses_[index] + 1) - 1, 1);
    if (set != 0) [[unlikely]]
      rows.release(set);
  }
  void grow() {
    first_free_ = static_cast<Index>(accesses_.size());
    accesses_.emplace_back();
    holders_.emplace_back();
  }

  struct Holders {
    std::uint32_t count = 0;
    RowSets::Id rows = 0;
    Index next_free = kNone;  ///< if the count is zero: the list of those
  };
  std::vector<Access> accesses_;
  std::vector<Holders> holders_;  ///< apart: an access is written once and hardly ever read, they change all the time
  Index first_free_ = kNone;
  std::size_t live_ = 0;
};

}  // namespace streamsan::ordering
