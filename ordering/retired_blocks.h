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
// THE SEARCH. A program of PyTorch's takes and returns more blocks than it launches kernels, and each time the lives
// over its bytes are looked for. They are listed by the address where they begin, in groups of like size: in a group,
// those that reach into a range begin not much before it. Most were used by one lane, and are over for whoever is after
// its last access; that is noted in the list, so that the life itself need not be fetched.
//
// What is lost: past kMostLives an old one is forgotten (a race may be missed, none is invented).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
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
    const std::uint32_t slot = slot_for(life, pool);
    if (slot == lives_.size()) {
      lives_.emplace_back();
    } else {
      lives_[slot].shadow.clear(pool, counters);
      unlist(slot);
    }
    lives_[slot] = std::move(life);
    list(slot);
  }
  /// Forgets the lives for which condition(life) holds.
  template <typename Condition>
  void drop_if(Condition condition, AccessPool& pool, ShadowCounters& counters) {
    const std::size_t dropped = std::erase_if(lives_, [&](RetiredBlock& life) {
      if (!condition(life)) return false;
      life.shadow.clear(pool, counters);
      return true;
    });
    if (dropped == 0) return;
    for (std::vector<Entry>& group : groups_) group.clear();
    for (std::uint32_t slot = 0; slot < lives_.size(); ++slot) list(slot);
    next_ = 0;
  }
  [[nodiscard]] bool any_in(Range range) const {
    return find_in(range, [](const Entry&) { return true; });
  }
  /// Calls visit(life) for every life that overlaps the range and whose accesses are not all known to `clock`, in no
  /// particular order.
  template <typename Visit>
  void for_each_unfinished_in(Range range, const VectorClock& clock, Visit visit) const {
    find_in(range, [&](const Entry& entry) {
      const Shadow::Use& use = entry.only_use;
      const RetiredBlock& life = lives_[entry.slot];
      const bool over =
          use.epoch != 0 ? clock.covers(use.lane, use.epoch) : life.shadow.all_before(AccessMode::Write, clock);
      if (!over) visit(life);
      return false;
    });
  }
  template <typename Visit>
  void for_each(Visit visit) {
    for (RetiredBlock& life : lives_) visit(life);
  }
  [[nodiscard]] bool empty() const { return lives_.empty(); }

 private:
  struct Entry {
    Range range;
    std::uint32_t slot = 0;  ///< in lives_
    Shadow::Use only_use{};  ///< of the life when it ended: it may have forgotten some of it since
  };
  /// A group holds lives of at most so many bytes, the last one all others.
  static constexpr std::array<Bytes, 3> kGroups{Bytes{4} << 10, Bytes{256} << 10, Bytes{8} << 20};

  static std::size_t group_of(Range range) {
    std::size_t group = 0;
    while (group < kGroups.size() && range.size() > kGroups[group]) ++group;
    return group;
  }
  static std::size_t place_in(const std::vector<Entry>& group, Address begin) {
    const auto at = std::ranges::lower_bound(group, begin, {}, [](const Entry& entry) { return entry.range.begin; });
    return static_cast<std::size_t>(at - group.begin());
  }
  void list(std::uint32_t slot) {
    const Range range = lives_[slot].info.range;
    std::vector<Entry>& group = groups_[group_of(range)];
    longest_ = std::max(longest_, range.size());
    const auto at = static_cast<std::ptrdiff_t>(place_in(group, range.begin));
    group.insert(group.begin() + at, {range, slot, lives_[slot].shadow.only_use()});
  }
  void unlist(std::uint32_t slot) {
    const Range range = lives_[slot].info.range;
    std::vector<Entry>& group = groups_[group_of(range)];
    std::size_t at = place_in(group, range.begin);
    while (group[at].slot != slot) ++at;
    group.erase(group.begin() + static_cast<std::ptrdiff_t>(at));
  }
  /// Calls accept(entry) for those that overlap the range, until it says true. Did it?
  template <typename Accept>
  bool find_in(Range range, Accept accept) const {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const Bytes reach = i < kGroups.size() ? kGroups[i] : longest_;
      const std::vector<Entry>& group = groups_[i];
      for (std::size_t at = place_in(group, range.begin > reach ? range.begin - reach : 0); at < group.size(); ++at) {
        if (group[at].range.begin >= range.end) break;
        if (group[at].range.end > range.begin && accept(group[at])) return true;
      }
    }
    return false;
  }
  /// Where the life goes: the place of one that it stands for, or a new one, or that of an old one.
  [[nodiscard]] std::uint32_t slot_for(const RetiredBlock& life, const AccessPool& pool) {
    const Range range = life.info.range;
    const std::vector<Entry>& group = groups_[group_of(range)];
    const bool waits = life.waited.assumed.size() > 0;
    for (std::size_t at = place_in(group, range.begin); !waits && at < group.size(); ++at) {
      if (group[at].range.begin != range.begin) break;
      const std::uint32_t slot = group[at].slot;
      if (group[at].range == range && life.shadow.reaches_all(range, lives_[slot].shadow, pool)) return slot;
    }
    if (lives_.size() < kMostLives) return static_cast<std::uint32_t>(lives_.size());
    return static_cast<std::uint32_t>(next_++ % kMostLives);
  }

  std::vector<RetiredBlock> lives_;
  std::array<std::vector<Entry>, kGroups.size() + 1> groups_;  ///< each by the address where its lives begin
  Bytes longest_ = 0;                                          ///< of all lives so far
  std::size_t next_ = 0;
};

}  // namespace streamsan::ordering
