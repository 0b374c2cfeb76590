// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How fast time may be spent on something that can wait: an amount at once, and from the first time on a share of the
// time that passes.
//
// A loader that hands out batches of all sizes gives each kernel new arguments in every step, and each of them is worth
// measuring. Without a pace the first seconds of such a program pay for all of them: its first forty steps took twice
// as long (measured on an H200 with the prefetching loader of PyTorch Geometric). With one they are measured a little
// later, and what is urgent is not asked to wait.
#pragma once

#include <atomic>
#include <cstdint>

namespace streamsan::recorder {

/// All times in nanoseconds of one clock. Any thread may ask; a lost race of two that spend costs one turn.
class Pace {
 public:
  /// `percent`: of the time since the first spend().
  constexpr Pace(std::uint64_t at_once_ns, unsigned percent) : at_once_ns_(at_once_ns), percent_(percent) {}

  [[nodiscard]] bool allows(std::uint64_t now_ns) const {
    const std::uint64_t spent = spent_ns_.load(std::memory_order_relaxed);
    if (spent < at_once_ns_) return true;
    const std::uint64_t first = first_ns_.load(std::memory_order_relaxed);
    const std::uint64_t since = now_ns > first ? now_ns - first : 0;
    return spent < at_once_ns_ + since / 100 * percent_;
  }

  void spend(std::uint64_t begin_ns, std::uint64_t end_ns) {
    std::uint64_t never = 0;
    first_ns_.compare_exchange_strong(never, begin_ns, std::memory_order_relaxed);
    spent_ns_.fetch_add(end_ns - begin_ns, std::memory_order_relaxed);
  }

  /// Nothing was spent.
  void reset() {
    first_ns_.store(0, std::memory_order_relaxed);
    spent_ns_.store(0, std::memory_order_relaxed);
  }

 private:
  std::uint64_t at_once_ns_;
  unsigned percent_;
  std::atomic<std::uint64_t> first_ns_{0};
  std::atomic<std::uint64_t> spent_ns_{0};
};

}  // namespace streamsan::recorder
