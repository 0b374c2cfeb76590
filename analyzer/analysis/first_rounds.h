// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether two accesses begin at the same place in some round of a loop. At least one of them begins at a place that
// depends on a counter.
//
//   for (int i = 1; i < n; ++i) copy(inbox + (i - 1) * size, ...);      // its first round is at the begin of `inbox`
//   reduce<<<..., other>>>(inbox);
//
//   bool push(T x) { host_[n_++] = x; return n_ == room_; }
//   void upload() { copy(device_, host_, n_); n_ = 0; }                 // the next push() begins anew
//
// The distance of the two is a polynomial over the values of counters and of unknown variables. A walk over the blocks
// follows the counters while they hold small numbers: through the first access, and on to the second one. If the
// numbers on some path make the distance 0, the two begin at the same place on that path. The walk takes each branch
// that the numbers do not exclude.
//
// The name of a value says when the counter was read: at the last entry of the block that merges it, or by the last run
// of the op that stored it. If a path reads the counter again, an access that is named by the value read last is
// another access; an older value stands for all earlier reads.
//
// The walk does not ask whether the path has a wait: the caller only asks if no path has one, or does not treat the
// answer as certain. Errs to miss: a variable that an unknown call may write has no number, and the number of paths is
// limited, for each pair and for the function as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "analyzer/analysis/order.h"

namespace streamsan::analyzer {

/// The first rounds of the loops of one function, while it is analysed.
class FirstRounds {
 public:
  explicit FirstRounds(const Values& values) : values_(values) {}

  /// On some path that runs the op of `earlier` and then that of `later`, the two begin at the same byte of one block.
  bool meet(const Pending& earlier, const Pending& later);
  /// The cost so far: the number of ops that were passed.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  using Question = std::array<std::uint64_t, 12>;
  const Values& values_;
  std::map<Question, bool> known_;
  std::uint64_t steps_ = 0;
};

}  // namespace streamsan::analyzer
