// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/pointer_regions.h"

namespace streamsan::recorder {

// A fork keeps g_regions: it may say yes too often.
constinit std::atomic<std::uint64_t> detail::g_regions[detail::kRegions / 64] = {};

void mark_region(std::uint64_t begin, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t last = (begin + bytes - 1) >> detail::kRegionShift;
  for (std::uint64_t region = begin >> detail::kRegionShift; region <= last && region < detail::kRegions; ++region) {
    const std::uint64_t bit = std::uint64_t{1} << (region % 64);
    std::atomic<std::uint64_t>& word = detail::g_regions[region / 64];
    if (!(word.load(std::memory_order_relaxed) & bit)) word.fetch_or(bit);
  }
}

}  // namespace streamsan::recorder
