// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether two accesses, of which at least one begins where a counter says, begin at one place in some round.
//
//   for (int i = 1; i < n; ++i) copy(inbox + (i - 1) * size, ...);      // its first round is at the begin of `inbox`
//   reduce<<<..., other>>>(inbox);
//
//   bool push(T x) { host_[n_++] = x; return n_ == room_; }
//   void upload() { copy(device_, host_, n_); n_ = 0; }                 // the next push() begins anew
//
// The distance of the two is a polynomial over the values of counters and of what is not known. A walk over the blocks
// follows the counters, as far as they hold small numbers: through the first access, and on to the second one. Where
// the numbers of some way make the distance 0, the two begin at one place on that way. Branches are followed where the
// numbers do not say that they go elsewhere.
//
// The name of a value says when the counter was read: at the last entry of the block that merges it, or by the last run
// of the op that stored it. A way on which the counter is read again is one on which an access that is named by the
// value read last is another one; an older value stands for all before.
//
// That no wait lies on the way is not asked here: nothing waits on any way, or the caller does not call this certain.
// Errs to miss: what a call that is not known may write holds no number, and very many ways are not looked at to the
// end. How many are is limited for each pair and for the function as a whole.
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

  /// On some way that runs the op of `earlier` and then that of `later`, the two begin at the same byte of one block.
  bool meet(const Pending& earlier, const Pending& later);
  /// What it has cost: ops that were passed.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  using Question = std::array<std::uint64_t, 12>;
  const Values& values_;
  std::map<Question, bool> known_;
  std::uint64_t steps_ = 0;
};

}  // namespace streamsan::analyzer
