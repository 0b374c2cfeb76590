// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Earlier lives of blocks: what the users of a block did that may still be going on when its bytes are handed out
// again.
//
// A block that goes back to its pool leaves its shadow behind, unless the host knows everything in it to be complete.
// The next block over the same bytes is compared with it. The shadow stays also after that: that one stream was right
// to take the bytes says nothing about the stream that takes them next.
//
// What it loses: past kMostLives the oldest is forgotten (a race may be missed, none is invented).
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "ordering/allocations.h"

namespace streamsan::ordering {

struct RetiredBlock {
  AllocationInfo info;
  Shadow shadow;
  std::vector<StreamId> declared;  ///< streams the pool was told of: it waits for them itself
  SiteId freed{};
};

class RetiredBlocks {
 public:
  static constexpr std::size_t kMostLives = 1024;

  void add(RetiredBlock life, AccessPool& pool, ShadowCounters& counters) {
    if (lives_.size() == kMostLives) {
      lives_.front().shadow.clear(pool, counters);
      lives_.pop_front();
    }
    lives_.push_back(std::move(life));
  }
  /// Forgets the lives for which condition(life) holds.
  template <typename Condition>
  void drop_if(Condition condition, AccessPool& pool, ShadowCounters& counters) {
    std::erase_if(lives_, [&](RetiredBlock& life) {
      if (!condition(life)) return false;
      life.shadow.clear(pool, counters);
      return true;
    });
  }
  /// Calls visit(life) for every life, oldest first.
  template <typename Visit>
  void for_each(Visit visit) {
    for (RetiredBlock& life : lives_) visit(life);
  }
  [[nodiscard]] bool empty() const { return lives_.empty(); }
  [[nodiscard]] std::size_t size() const { return lives_.size(); }

 private:
  std::deque<RetiredBlock> lives_;
};

}  // namespace streamsan::ordering
