// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory that was freed and not allocated again: where a stale pointer points.
//
// R-SOA-04: once a free has returned, no later call may submit work that touches the memory, in whatever stream and
// whatever the order. So the lives of stream-ordered and of ordinary device memory are kept for a while after their
// end, by address. A life is dropped as soon as anything may live there again: an allocation that overlaps it
// (R-SOA-08, R-SOA-11), host memory that was touched or freed there. Lives of other memory are not kept: the host
// reuses the addresses of pinned, registered and managed memory, and programs map and unmap mapped ranges repeatedly.
//
// A second instance holds the blocks of pools that went back after a graph was made that may use them (R-ANN-04). Who
// else uses the bytes by now does not matter to them: the graph means the block that was there.
//
// Bounded: past kMostLives the older half is forgotten (a use may be missed, none is invented).
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <vector>

#include "ordering/hazard.h"
#include "ordering/kept_node.h"
#include "ordering/types.h"

namespace streamsan::ordering {

/// How many executable graphs had been made at some moment. 0: before the first.
using GraphCount = std::uint32_t;

struct FreedLife {
  AllocationInfo info;
  Access free;
  GraphCount graphs_before{};  ///< of a block: when it was handed out
  GraphCount graphs{};         ///< of a block: when it went back
  OpId last_user{};            ///< the last operation reported, and how certainly: it is reported once
  Certainty last_certainty{};
};

class FreedLives {
 public:
  static constexpr std::size_t kMostLives = 1024;

  /// The range must not overlap a kept life.
  void add(const AllocationInfo& info, const Access& free) {
    if (lives_.size() == kMostLives) forget_older_half();
    kept_.assign(lives_, info.range.begin, {.info = info, .free = free});
  }
  /// A block that lived while graphs were made. It takes the place of kept blocks in the same bytes.
  void add_block(const AllocationInfo& info, const Access& free, GraphCount graphs_before, GraphCount graphs) {
    reused(info.range);
    add(info, free);
    FreedLife& life = lives_[info.range.begin];
    life.graphs_before = graphs_before;
    life.graphs = graphs;
  }
  /// Something lives in the range again.
  void reused(Range range) {
    auto next = lives_.upper_bound(range.begin);
    if (next != lives_.begin() && std::prev(next)->second.info.range.end > range.begin) --next;
    while (next != lives_.end() && next->first < range.end) next = kept_.erase(lives_, next);
  }
  [[nodiscard]] bool empty() const { return lives_.empty(); }
  /// The kept life that held the address, or nullptr. Valid until the next add().
  [[nodiscard]] FreedLife* find(Address address) {
    const auto next = lives_.upper_bound(address);
    if (next == lives_.begin()) return nullptr;
    FreedLife& life = std::prev(next)->second;
    return life.info.range.contains(address) ? &life : nullptr;
  }

 private:
  void forget_older_half() {
    std::vector<OpId> frees;
    for (const auto& [base, life] : lives_) frees.push_back(life.free.op);
    const auto middle = frees.begin() + static_cast<std::ptrdiff_t>(frees.size() / 2);
    std::nth_element(frees.begin(), middle, frees.end());
    std::erase_if(lives_, [&](const auto& entry) { return entry.second.free.op < *middle; });
  }

  std::map<Address, FreedLife> lives_;
  KeptNode<std::map<Address, FreedLife>> kept_;
};

}  // namespace streamsan::ordering
