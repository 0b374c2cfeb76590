// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which words may be device pointers? One bit for each 256 MiB of the address space: did they ever hold an allocation?
// That costs one bit test and keeps plain integers out of the trace; which words really point into a live allocation is
// decided by the judge.
#pragma once

#include <atomic>
#include <cstdint>

namespace streamsan::recorder {

namespace detail {
inline constexpr unsigned kRegionShift = 28;
inline constexpr std::uint64_t kRegions = std::uint64_t{1} << (48 - kRegionShift);
extern constinit std::atomic<std::uint64_t> g_regions[kRegions / 64];
}  // namespace detail

/// The range [begin, begin + bytes) may hold device-accessible memory from now on.
void mark_region(std::uint64_t begin, std::uint64_t bytes);

/// False: no allocation was ever seen near this address.
inline bool may_be_pointer(std::uint64_t word) {
  const std::uint64_t region = word >> detail::kRegionShift;
  return region < detail::kRegions &&
         (detail::g_regions[region / 64].load(std::memory_order_relaxed) >> (region % 64) & 1);
}

}  // namespace streamsan::recorder
