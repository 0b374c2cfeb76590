// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pointer shadow of one allocation: which kernels were given which pointers into it.
//
// A pointer among a kernel's arguments says where the kernel may begin to reach, not how far. So an interval map is of
// no use: a later kernel with another pointer neither covers the earlier one nor is known to be disjoint from it. But
// the pointers themselves can be compared (see certainty() in hazard.h). So accesses are kept in a table by pointer
// value, and for each pointer a short list: the last read and the last write of each lane and kernel.
//
// Naive specification, for one pointer:
//     accesses a[];
//     remember(x):  a.remove_if(e is before x, by the documented clock, same kernel, and (x writes or e reads));
//     a.push(x)
// but that an x whose conflicts are possible at most (is_at_most_possible()) removes only such ones.
// As for exact accesses, the removal never hides that something races, because x reaches the same bytes as e. The
// kernel is compared only because "certain" depends on it. For the same reason, cutting the list to kKernelsKept
// ordered accesses loses only certainty.
//
// Accesses through textures and surfaces are kept here, too, though they end where the object ends (Access::bounded).
// Such an x removes nothing that reached further, and where there is one, or the later access is one, the whole table
// is looked at.
//
// Two kernels' reaches always meet, since both end where the allocation ends. So for a later kernel it is enough to
// look at the same pointer, where the conflict may be certain, and at the newest read and write of each lane: if those
// are known to the later one, all older ones of the lane are (and where the newest does not come after an older one,
// that one is kept, too). So two streams that share a pool without order, which is common and only "possible", cost
// little. A later copy has to look at the whole table.
//
// A program may use every 512th byte of a large pool as a pointer over time. Past kMostPointers the pointers used least
// recently are forgotten (a race may be missed, none is invented).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ordering/access_pool.h"
#include "ordering/flat_map.h"
#include "ordering/plain_list.h"

namespace streamsan::ordering {

class PointerShadow {
 public:
  static constexpr std::size_t kMostPointers = 4096;
  static constexpr std::size_t kKernelsKept = 4;
  static constexpr std::size_t kMostPerPointer = 128;

  enum class Writes : std::uint8_t { No, Perhaps, Surely };  ///< Surely: AccessMode::Write

  /// What the table knows of an access: enough to order it and to keep the lists short.
  struct Reference {
    Epoch epoch = 0;
    LaneSlot lane = 0;
    AccessPool::Index access = 0;
    FunctionId function{};
    Writes writes{};
    bool at_most_possible = false;
  };

  static Writes writes(AccessMode mode) {
    if (mode == AccessMode::Read) return Writes::No;
    return mode == AccessMode::Write ? Writes::Surely : Writes::Perhaps;
  }

  [[nodiscard]] bool empty() const { return histories_.size() == 0; }
  [[nodiscard]] std::size_t pointers() const { return histories_.size(); }
  /// Was there an access through a texture or surface? Then only for_each_below() finds all.
  [[nodiscard]] bool has_bounded() const { return has_bounded_; }

  /// Calls visit(reference) for every access by a pointer below `end`: those that may reach bytes before it.
  template <typename Visit>
  void for_each_below(Address end, Visit visit) const {
    histories_.for_each([&](Address pointer, const History& history) {
      if (pointer >= end) return;
      for (const Reference& access : history) visit(access);
    });
  }

  /// Calls visit(reference) for those accesses that decide about a later access by `pointer`: as many lanes are
  /// unordered with it, and as certainly, as if all were visited.
  template <typename Visit>
  void for_each_deciding(Address pointer, Visit visit) const {
    for (const Reference& access : newest_) visit(access);
    const History* history = histories_.find(pointer);
    if (!history) return;
    for (const Reference& access : *history) visit(access);
  }

  /// Calls visit(reference) for the newest read and the newest write of each lane.
  template <typename Visit>
  void for_each_newest(Visit visit) const {
    for (const Reference& access : newest_) visit(access);
  }

  /// Adds an inferred access, and takes over the caller's count of it in the pool. `clock` is its documented clock;
  /// `knows_all`: it is known to cover everything here.
  void remember(const Touch& touch, const Reference& later, const VectorClock& clock, bool knows_all, AccessPool& pool,
                ShadowCounters& counters);
  /// Drops what is known to `clock`: nothing that starts later can race with it.
  void forget_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters);
  /// Drops the pointers used least recently, down to half.
  void forget_older_half(AccessPool& pool, ShadowCounters& counters);
  void clear(AccessPool& pool, ShadowCounters& counters);

 private:
  using History = PlainList<Reference>;  ///< oldest first
  static constexpr std::size_t kAtOnce = 64;
  static_assert(kKernelsKept > 0 && kMostPerPointer > kAtOnce && kMostPerPointer <= 2 * kAtOnce);

  template <typename Condition>
  std::uint64_t drop_if(Condition condition, AccessPool& pool, ShadowCounters& counters);

  struct Kept {
    Reference* end = nullptr;
    std::uint64_t others = 0;  ///< of other kernels, those that may go: a bit for each
  };
  /// Drops, of up to kAtOnce references, those that the later access stands for: all of its own kernel, and of the
  /// others all but the newest `others_to_keep`. Whether modes allow that is compared here; stands_for(earlier)
  /// answers for all else.
  template <typename StandsFor>
  static Kept drop_replaced(std::span<Reference> references, const Reference& later, StandsFor stands_for,
                            std::size_t others_to_keep, AccessPool& pool, ShadowCounters& counters);
  /// Adds an access to those by the same pointer, and drops the earlier ones that it stands for.
  template <typename StandsFor>
  static void replace(History& history, const Reference& later, StandsFor stands_for, AccessPool& pool,
                      ShadowCounters& counters);
  /// The same of up to kAtOnce that are all known to it.
  static void replace_known(History& history, const Reference& later, AccessPool& pool, ShadowCounters& counters);
  /// The list of a pointer that has none.
  History& begin(Address pointer);
  void note_newest(const Reference& reference, const VectorClock& clock, AccessPool& pool, ShadowCounters& counters);

  bool has_bounded_ = false;
  FlatMap<History> histories_;
  /// The newest read and write of each lane, and older ones that it does not come after (dependents.h).
  PlainList<Reference> newest_;
};

}  // namespace streamsan::ordering
