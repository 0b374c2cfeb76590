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
  RowSets::Id rows = 0;  ///< exact: 0, or the bytes, and the range is their hull
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

  /// Stores the access with a count of one, for the caller. `set`: its bytes, if they are many rows.
  Index add(const Access& access, RowSets::Id set = 0) {
    if (set != 0) rows.acquire(set);
    if (free_.empty()) {
      accesses_.push_back(access);
      holders_.push_back({1, set});
      return static_cast<Index>(accesses_.size() - 1);
    }
    const Index index = free_.back();
    free_.pop_back();
    accesses_[index] = access;
    holders_[index] = {1, set};
    return index;
  }
  void acquire(Index index) { ++holders_[index].count; }
  void release(Index index) {
    if (--holders_[index].count == 0) reclaim(index);
  }
  [[nodiscard]] const Access& operator[](Index index) const { return accesses_[index]; }
  [[nodiscard]] RowSets::Id rows_of(Index index) const { return holders_[index].rows; }
  /// How much memory the access keeps, in pieces.
  [[nodiscard]] std::uint64_t weight(Index index) const {
    return holders_[index].rows == 0 ? 1 : rows.pieces(holders_[index].rows);
  }
  [[nodiscard]] std::size_t live() const { return accesses_.size() - free_.size(); }

  RowSets rows;

 private:
  void reclaim(Index index) {
    if (holders_[index].rows != 0) rows.release(holders_[index].rows);
    free_.push_back(index);
  }

  struct Holders {
    std::uint32_t count = 0;
    RowSets::Id rows = 0;
  };
  std::vector<Access> accesses_;
  std::vector<Holders> holders_;  ///< apart: an access is written once and hardly ever read, they change all the time
  std::vector<Index> free_;
};

}  // namespace streamsan::ordering
