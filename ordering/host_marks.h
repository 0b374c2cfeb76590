// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marked operations of a stream: the host may need to know that they are complete, for reasons that the model does not
// see. They read or write host memory, or they are graphs or host functions. Marks are kept only for a what-if. It
// reports a wait as an exposure if that wait is the first from which the host knows that a marked operation is
// complete.
//
// Bounded: of each stream, the last kMostMarks since the host last waited are kept. One mark without a memory range
// stands for all older ones.
#pragma once

#include <cstddef>
#include <vector>

#include "ordering/vector_clock.h"
#include "ordering/what_if.h"

namespace streamsan::ordering {

class HostMarks {
 public:
  static constexpr std::size_t kMostMarks = 256;

  struct Mark {
    Epoch epoch = 0;
    Exposure exposure;  ///< its variant is not set
  };

  void add(Epoch epoch, const Exposure& exposure) {
    if (marks_.size() < kMostMarks) {
      marks_.push_back({epoch, exposure});
    } else {
      Mark& old = marks_[next_];
      if (oldest_forgotten_ == 0 || old.epoch < oldest_forgotten_) oldest_forgotten_ = old.epoch;
      if (old.epoch >= forgotten_.epoch) forgotten_ = old;
      forgotten_.exposure.range = {};
      old = {epoch, exposure};
      next_ = (next_ + 1) % kMostMarks;
    }
  }
  /// Calls visit(mark) for those with epochs in (after, up_to].
  template <typename Visit>
  void for_each_in(Epoch after, Epoch up_to, Visit visit) const {
    for (const Mark& mark : marks_) {
      if (mark.epoch > after && mark.epoch <= up_to) visit(mark);
    }
    if (oldest_forgotten_ == 0 || oldest_forgotten_ > up_to || forgotten_.epoch <= after) return;
    Mark all = forgotten_;
    all.epoch = all.epoch < up_to ? all.epoch : up_to;
    visit(all);
  }
  void forget(Epoch up_to) {
    std::erase_if(marks_, [up_to](const Mark& mark) { return mark.epoch <= up_to; });
    if (forgotten_.epoch <= up_to) {
      forgotten_ = {};
      oldest_forgotten_ = 0;
    } else if (oldest_forgotten_ != 0 && oldest_forgotten_ <= up_to) {
      oldest_forgotten_ = up_to + 1;
    }
    next_ = 0;  // the rest need not be sorted: the next to be forgotten is one of the older ones
  }

  /// The last kernel, copy or fill, for Exposure::Why::End.
  Mark last_work;

 private:
  std::vector<Mark> marks_;
  std::size_t next_ = 0;        ///< the oldest, once it is full
  Mark forgotten_;              ///< the newest of those that were overwritten
  Epoch oldest_forgotten_ = 0;  ///< 0: none
};

}  // namespace streamsan::ordering
