// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pageable host memory that asynchronous copies were given, and may still read or write.
//
// Pageable memory has no allocation and no shadow. All that can be asked about it is whether it went away too early, so
// for each asynchronous copy from or to it the bytes are kept with the copy's place in time, and compared when the host
// frees memory. No document promises that the copy is done with them before it is complete. That today's driver is when
// the call returns makes every such finding latent (R-CPY-13, R-CPY-14).
//
// A copy costs one slot of a ring; only a free looks through it. Bounded: the last kMostLoans copies; an older one is
// forgotten (a free may be missed, none is invented).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "ordering/access_pool.h"
#include "ordering/model.h"

namespace streamsan::ordering {

/// From the first byte to the last one, gaps included.
inline Range hull(const Footprint& bytes) {
  return {bytes.base,
          bytes.base + (bytes.slices - 1) * bytes.slice_pitch + (bytes.rows - 1) * bytes.pitch + bytes.width};
}

/// The first bytes that the footprint and the range have in common; empty if there are none.
inline Range first_common(const Footprint& bytes, Range range) {
  for (std::uint64_t slice = 0; slice < bytes.slices; ++slice) {
    const Address base = bytes.base + slice * bytes.slice_pitch;
    const Address past = range.begin > base ? range.begin - base : 0;
    const std::uint64_t skipped = bytes.pitch == 0 ? 0 : past / bytes.pitch;
    for (std::uint64_t row = skipped; row < std::min(bytes.rows, skipped + 2); ++row) {
      const Address begin = base + row * bytes.pitch;
      const Range common = intersection({begin, begin + bytes.width}, range);
      if (!common.empty()) return common;
    }
  }
  return {};
}

/// The rule by which today's driver is done with the pageable side of an asynchronous copy when the call returns.
inline Rule staged_by(const Access& copy) { return writes(copy) ? Rule::CPY_14 : Rule::CPY_13; }

struct Loan {
  Footprint bytes;
  Remembered copy;  ///< its access; Read: the source, Write: the destination
};

class Loans {
 public:
  static constexpr std::size_t kMostLoans = 1024;

  void add(const Loan& loan) {
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
      const Range common = first_common(loan.bytes, range);
      if (common.empty()) continue;
      visit(loan, common);
      loan.copy.access.range = {};
    }
  }

 private:
  std::vector<Loan> ring_;
  std::size_t next_ = 0;
};

}  // namespace streamsan::ordering
