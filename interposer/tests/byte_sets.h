// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The naive side of the property tests: a set of bytes as one flag for each, and lists of ranges from such sets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "interposer/footprints/agent.h"

namespace streamsan::testing {

inline constexpr unsigned kModes = 3;

/// Bytes of a window of memory, a set for each mode.
struct ByteSets {
  std::uint64_t base = 0;
  std::array<std::vector<bool>, kModes> bytes;

  ByteSets(std::uint64_t from, std::size_t size) : base(from) {
    for (auto& set : bytes) set.assign(size, false);
  }
  [[nodiscard]] std::size_t size() const { return bytes[0].size(); }
  /// False: not all of it is inside of the window.
  bool add(unsigned mode, std::uint64_t begin, std::uint64_t end) {
    if (begin < base || begin > end || end > base + size()) return false;
    for (std::uint64_t at = begin; at < end; ++at) bytes[mode][at - base] = true;
    return true;
  }
  bool operator==(const ByteSets&) const = default;
};

/// As an agent would hand them over. `together`: ranges of two modes that are equal become one.
inline std::vector<StreamSanRange> ranges_of(const ByteSets& sets, bool together) {
  std::vector<StreamSanRange> ranges;
  std::array<std::uint64_t, kModes> begun{};
  std::array<bool, kModes> open{};
  // Those of one begin are found at different ends, so they are brought in order afterwards.
  for (std::size_t at = 0; at <= sets.size(); ++at) {
    for (unsigned mode = 0; mode < kModes; ++mode) {
      const bool set = at < sets.size() && sets.bytes[mode][at];
      if (set && !open[mode]) begun[mode] = sets.base + at;
      if (!set && open[mode]) {
        const std::uint64_t end = sets.base + at;
        bool joined = false;
        for (std::size_t back = ranges.size(); together && back > 0 && ranges[back - 1].end == end; --back) {
          if (ranges[back - 1].begin != begun[mode]) continue;
          ranges[back - 1].modes |= 1u << mode;
          joined = true;
        }
        if (!joined) ranges.push_back({begun[mode], end, 1u << mode, 0});
      }
      open[mode] = set;
    }
  }
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const StreamSanRange& a, const StreamSanRange& b) { return a.begin < b.begin; });
  return ranges;
}

}  // namespace streamsan::testing
