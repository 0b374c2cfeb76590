// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a host thread knew at earlier moments. If another thread comes after such a moment, by a mutex for example, it
// gets to know what this thread knew then, and not what this thread has learned since.
//
// Bounded: when there are kMost entries, every second entry of the older half is dropped. The answer for a moment whose
// entry was dropped is that of the next entry, so it may contain a little more than was known then: a race may be
// missed, none is invented.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "ordering/two_clocks.h"

namespace streamsan::ordering {

class HostPast {
 public:
  static constexpr std::size_t kMost = 256;

  /// From this moment on the thread knows what the clock says. Moments are noted in increasing order.
  void note(std::uint64_t moment, const TwoClocks& clock) {
    if (count_ == 0 || entries_[count_ - 1].since != moment) {
      if (count_ >= kMost) thin_out();
      if (count_ == entries_.size()) entries_.emplace_back();
      entries_[count_++].since = moment;
    }
    entries_[count_ - 1].clock = clock;  // into memory that it has, once the table is full
  }
  /// What it knew at the moment; nullptr: nothing.
  [[nodiscard]] const TwoClocks* at(std::uint64_t moment) const {
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(count_);
    const auto after = std::upper_bound(entries_.begin(), end, moment,
                                        [](std::uint64_t m, const Entry& entry) { return m < entry.since; });
    return after == entries_.begin() ? nullptr : &std::prev(after)->clock;
  }

 private:
  struct Entry {
    std::uint64_t since = 0;
    TwoClocks clock;
  };

  void thin_out() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const bool goes = i < kMost / 2 && i % 2 == 0;
      if (goes) {
        entries_[i + 1].since = entries_[i].since;
      } else {
        if (kept != i) std::swap(entries_[kept], entries_[i]);
        ++kept;
      }
    }
    count_ = kept;
  }

  std::vector<Entry> entries_;  // the first count_ of them
  std::size_t count_ = 0;
};

}  // namespace streamsan::ordering
