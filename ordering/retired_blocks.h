// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Earlier lives of blocks: accesses that may still be running when the bytes are handed out again.
//
// When a block goes back to its pool, its shadow is kept, unless the host knows everything in it to be complete. The
// next block over the same bytes is compared with it. The shadow stays also after that: the stream that takes the bytes
// next may be ordered differently.
//
// Programs that seldom wait hand out the same blocks in the same stream over and over. A later life of the same bytes
// replaces an earlier one if each lane that used the earlier life touched all of its bytes in the later one: what is
// after the later use is also after the earlier one. So there is about one life for each block, however often it was
// handed out.
//
// What is lost: past kMostLives an old one is forgotten (a race may be missed, none is invented).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "ordering/allocations.h"

namespace streamsan::ordering {

struct RetiredBlock {
  AllocationInfo info;
  Shadow shadow;
  TwoClocks waited;  ///< what the pool waits for by itself: the work of streams that it knows of
  SiteId freed{};
};

class RetiredBlocks {
 public:
  static constexpr std::size_t kMostLives = 1024;

  void add(RetiredBlock life, AccessPool& pool, ShadowCounters& counters) {
    const std::size_t slot = slot_for(life, pool);
    if (slot == lives_.size()) {
      ranges_.push_back(life.info.range);
      lives_.push_back(std::move(life));
      return;
    }
    lives_[slot].shadow.clear(pool, counters);
    ranges_[slot] = life.info.range;
    lives_[slot] = std::move(life);
  }
  /// Forgets the lives for which condition(life) holds.
  template <typename Condition>
  void drop_if(Condition condition, AccessPool& pool, ShadowCounters& counters) {
    if (lives_.empty()) return;
    std::erase_if(lives_, [&](RetiredBlock& life) {
      if (!condition(life)) return false;
      life.shadow.clear(pool, counters);
      return true;
    });
    ranges_.clear();
    for (const RetiredBlock& life : lives_) ranges_.push_back(life.info.range);
    next_ = 0;
  }
  /// Calls visit(life) for every life that overlaps the range, in no particular order.
  template <typename Visit>
  void for_each_in(Range range, Visit visit) const {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (ranges_[i].overlaps(range)) visit(lives_[i]);
    }
  }
  template <typename Visit>
  void for_each(Visit visit) {
    for (RetiredBlock& life : lives_) visit(life);
  }
  [[nodiscard]] bool empty() const { return lives_.empty(); }

 private:
  /// Where the life goes: the place of one that it stands for, or a new one, or that of an old one.
  [[nodiscard]] std::size_t slot_for(const RetiredBlock& life, const AccessPool& pool) {
    const bool waits = life.waited.assumed.size() > 0;
    for (std::size_t i = 0; i < ranges_.size() && !waits; ++i) {
      if (ranges_[i] == life.info.range && life.shadow.reaches_all(ranges_[i], lives_[i].shadow, pool)) return i;
    }
    if (lives_.size() < kMostLives) return lives_.size();
    return next_++ % kMostLives;
  }

  std::vector<Range> ranges_;  ///< of the lives, for the search
  std::vector<RetiredBlock> lives_;
  std::size_t next_ = 0;
};

}  // namespace streamsan::ordering
