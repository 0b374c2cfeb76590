// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All bytes that two accesses have in common, for a person: how many, and how they lie.
//
// A hazard names one run of bytes that both touch; two kernels on parts of a matrix may have a thousand. They are
// gathered when somebody asks (HazardSink::wants_common_bytes()), not at each comparison, and at most kMostRuns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ordering/types.h"

namespace streamsan::ordering {

struct CommonBytes {
  Bytes bytes = 0;         ///< 0: not gathered
  std::uint64_t runs = 0;  ///< without a gap
  Bytes width = 0;         ///< of each run, if all are as long and as far apart; else 0
  Bytes pitch = 0;         ///< from the begin of one to that of the next; 0: a single one, or no such distance
  Bytes first = 0;         ///< length of the first run
  Range hull;
  bool more = false;  ///< there are more, which were not counted
};

/// At most so many runs are looked at.
inline constexpr std::size_t kMostRuns = 4096;

/// Sorts them and puts together what touches or overlaps. `runs` is changed.
CommonBytes common_bytes(std::vector<Range>& runs);

}  // namespace streamsan::ordering
