// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pageable host memory that asynchronous copies were given, and may still read or write.
//
// Pageable memory has no allocation and no shadow. The model can only check whether it was freed too early. So for each
// asynchronous copy from or to it the bytes are kept with the copy's place in time, and compared when the host frees
// memory. No document promises that the copy is done with them before it is complete. Today's driver is done when the
// call returns, so such a finding is latent (R-CPY-13, R-CPY-14), but for copies of a batch that are not (copies.cpp).
//
// A copy costs one slot of a ring; only a free looks through it. Bounded: the last kMostLoans copies; an older one is
// forgotten (a free may be missed, none is invented).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "ordering/access_pool.h"
#include "ordering/model.h"
#include "ordering/rows.h"

namespace streamsan::ordering {

/// The rule by which today's driver is done with the pageable side of an asynchronous copy when the call returns.
inline Rule staged_by(const Access& copy) { return writes(copy) ? Rule::CPY_14 : Rule::CPY_13; }

/// Is it done with pageable memory when the call returns, as today's driver does it?
inline bool is_staged(const Access& copy, MemoryKind kind) {
  return kind == MemoryKind::Pageable && copy.source == AccessSource::Copy && !copy.in_place;
}

struct Loan {
  Footprint bytes;
  Remembered copy;  ///< its access; Read: the source, Write: the destination
};

class Loans {
 public:
  static constexpr std::size_t kMostLoans = 1024;

  void add(Loan loan) {
    // The trace says that the call was made with these numbers and succeeded.
    if (!lies_in({0, kMostAddress}, loan.bytes)) return;
    loan.bytes = simplified(loan.bytes);
    if (ring_.size() < kMostLoans) {
      ring_.push_back(loan);
      return;
    }
    ring_[next_] = loan;
    next_ = (next_ + 1) % kMostLoans;
  }
  /// Calls visit(loan, first common bytes) for every loan that has bytes in the range, and forgets those loans.
  template <typename Visit>
  void take(Range range, Visit visit) {
    for (Loan& loan : ring_) {
      if (!loan.copy.access.range.overlaps(range)) continue;
      const std::optional<Range> row = row_in(loan.bytes, range);
      if (!row) continue;
      visit(loan, intersection(*row, range));
      loan.copy.access.range = {};
    }
  }

 private:
  std::vector<Loan> ring_;
  std::size_t next_ = 0;
};

}  // namespace streamsan::ordering
