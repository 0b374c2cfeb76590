// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of waits: each wait is unneeded while the others stay, but some are needed when all are left out.
//
// A replay leaves all of them out. If it is not clean, another replay has one variant for each of them, which puts that
// one back: a pair of accesses that is unordered in the base and ordered in a variant is repaired by that site. The
// fewest sites that repair all pairs are kept (greedily: the one that repairs most first). Sites that could have
// repaired the same pair are in one group with the one that is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/syncs.h"
#include "ordering/flat_map.h"
#include "ordering/what_if.h"

namespace streamsan::judge {

/// Which of the sites that are left out mends which pair. Variant i + 1 puts site i back.
class SyncMending final : public ordering::WhatIfSink {
 public:
  explicit SyncMending(std::size_t sites) : sites_(sites) {}
  void variant(ordering::VariantId, const ordering::Cut&) override {}
  void mattered(ordering::VariantId, ordering::OpId) override {}
  void pair(const ordering::Pair& pair) override;
  void exposed(const ordering::Exposure&) override {}
  [[nodiscard]] bool settled(ordering::VariantId) const override { return false; }

  /// For each distinct pair the sites (0, 1, ...) of which any one mends it.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& pairs() const { return pairs_; }

 private:
  static constexpr std::size_t kMostPairs = 4096;
  std::size_t sites_;
  std::vector<std::vector<std::uint32_t>> pairs_;
  ordering::FlatMap<bool> known_;
};

/// The sites that must be kept, by index, and which sites belong together: for each site its group, 0: none.
struct SyncCover {
  std::vector<std::uint32_t> kept;
  std::vector<std::uint32_t> group;
};

/// Kept first is who mends most pairs for each of its calls: one wait behind a loop rather than the one in it. Of two
/// that are equal in that the one that is not `idle`, for what it waits for has to be waited for anyway; then the
/// earlier one.
SyncCover cover(const std::vector<std::vector<std::uint32_t>>& pairs, const std::vector<bool>& idle,
                const std::vector<std::uint64_t>& calls);

}  // namespace streamsan::judge
