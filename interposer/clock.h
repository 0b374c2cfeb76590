// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time for deadlines and budgets: it never jumps, whatever happens to the date.
#pragma once

#include <time.h>

#include <cstdint>

namespace streamsan {

inline constexpr std::uint64_t kNanosecondsPerMillisecond = 1'000'000;
inline constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

/// Nanoseconds since some moment in the past. May be called from a signal handler.
inline std::uint64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kNanosecondsPerSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace streamsan
