// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/sync_groups.h"

#include <algorithm>
#include <numeric>

namespace streamsan::judge {

void SyncMending::pair(const ordering::Pair& pair) {
  std::vector<std::uint32_t> menders;
  std::uint64_t key =
      (static_cast<std::uint64_t>(pair.earlier.site) << 32) ^ static_cast<std::uint64_t>(pair.later.site);
  key = key * 31 + static_cast<std::uint64_t>(pair.earlier.stream);
  key = key * 31 + static_cast<std::uint64_t>(pair.later.stream);
  for (const ordering::InVariant& in : pair.variants) {
    if (in.order >= pair.base || in.variant == 0 || in.variant > sites_) continue;
    menders.push_back(in.variant - 1);
    key = key * 0x100000001b3ull + in.variant;
  }
  if (menders.empty() || pairs_.size() >= kMostPairs) return;
  bool& known = known_[key];
  if (known) return;
  known = true;
  pairs_.push_back(std::move(menders));
}

SyncCover cover(const std::vector<std::vector<std::uint32_t>>& pairs, const std::vector<bool>& idle,
                const std::vector<std::uint64_t>& calls) {
  SyncCover out;
  out.group.assign(idle.size(), 0);
  // Who could mend the same pair belongs together.
  std::vector<std::uint32_t> parent(idle.size());
  std::iota(parent.begin(), parent.end(), 0u);
  const auto root = [&parent](std::uint32_t site) {
    while (parent[site] != site) site = parent[site] = parent[parent[site]];
    return site;
  };
  for (const std::vector<std::uint32_t>& menders : pairs) {
    for (std::uint32_t site : menders) parent[root(site)] = root(menders[0]);
  }
  std::vector<bool> mended(pairs.size(), false);
  for (std::size_t left = pairs.size(); left != 0;) {
    std::vector<std::uint64_t> mends(idle.size(), 0);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (mended[i]) continue;
      for (std::uint32_t site : pairs[i]) ++mends[site];
    }
    std::uint32_t best = 0;
    for (std::uint32_t site = 1; site < mends.size(); ++site) {
      // mends / calls, without dividing.
      const std::uint64_t gain = mends[site] * std::max<std::uint64_t>(calls[best], 1);
      const std::uint64_t best_gain = mends[best] * std::max<std::uint64_t>(calls[site], 1);
      if (gain > best_gain || (gain == best_gain && gain != 0 && idle[best] && !idle[site])) best = site;
    }
    if (mends[best] == 0) break;
    out.kept.push_back(best);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (mended[i] || std::find(pairs[i].begin(), pairs[i].end(), best) == pairs[i].end()) continue;
      mended[i] = true;
      --left;
    }
  }
  std::vector<std::uint32_t> number(idle.size(), 0);
  std::uint32_t groups = 0;
  for (std::uint32_t kept : out.kept) {
    std::uint32_t& group = number[root(kept)];
    if (group == 0) group = ++groups;
  }
  for (std::uint32_t site = 0; site < idle.size(); ++site) out.group[site] = number[root(site)];
  return out;
}

}  // namespace streamsan::judge
