// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interval shadow of one allocation: for every byte, the exact accesses that a later access could still race with.
//
// Naive specification, for one byte:
//     accesses a[];                                    // empty at first
//     remember(x):  a.remove_if(e is before x, by the documented clock, and x stands for e);  a.push(x)
//     x stands for e:  (x writes, or both read, or both are atomic) and x is known at least as well as e
// An access e that was removed is not needed again: whatever is unordered with e and conflicts with e is also unordered
// with x (else it would be ordered after e through x) and conflicts with x. So the removal loses no byte, only which of
// two racing accesses is named. It is FastTrack's rule, except that unordered writes are all kept, so a first race does
// not hide a second one; that an atomic access replaces neither a read nor a write, since it does not conflict with
// another atomic one; and that uncertain bytes (learned, widened) do not replace certain ones, or an error would
// become merely possible.
//
// Bytes with the same accesses form a segment. Remembering an access splits segments at its ends, fills the gaps and
// coalesces neighbours that have become equal. A list holds at most one write, one read and one atomic access of each
// lane for each kind of evidence, since a lane's own operations are ordered.
//
// What is lost: past kMostSegments, the segments that were not touched for longest are forgotten (a race may be missed,
// none is invented). A program gets there if it touches an allocation in ever different ranges.
#pragma once

#include <cstddef>
#include <vector>

#include "ordering/access_pool.h"
#include "ordering/plain_list.h"

namespace streamsan::ordering {

class IntervalShadow {
 public:
  static constexpr std::size_t kMostSegments = 2048;
  static constexpr std::size_t kFewSegments = 8;

  /// What a segment knows of an access: enough to order it.
  struct Reference {
    Epoch epoch = 0;
    LaneSlot lane = 0;
    AccessMode mode = AccessMode::Read;
    Evidence evidence = Evidence::Sure;
    bool may_signal = false;
    AccessPool::Index access = 0;
    friend bool operator==(const Reference&, const Reference&) = default;
  };
  /// The relation of the naive specification.
  friend bool stands_for(const Reference& later, const Reference& earlier) {
    return (later.mode == AccessMode::Write || later.mode == earlier.mode) && later.may_signal <= earlier.may_signal &&
           later.evidence >= earlier.evidence;
  }
  struct Segment {
    Range range;
    PlainList<Reference> references;
  };

  [[nodiscard]] bool empty() const { return segments_.empty(); }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }

  /// Calls visit(segment range, reference) for every access that touches the range.
  template <typename Visit>
  void for_each_in(Range range, Visit visit) const {
    for (std::size_t i = first_ending_after(range.begin); i < segments_.size() && segments_[i].range.begin < range.end;
         ++i) {
      for (const Reference& reference : segments_[i].references) visit(segments_[i].range, reference);
    }
  }

  /// Adds the access to every byte of the range. `clock` is the documented clock of the access.
  void remember(Range range, const Reference& access, const VectorClock& clock, AccessPool& pool,
                ShadowCounters& counters);

  /// Drops what is known to `clock`: nothing that starts later can race with it.
  void forget_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters);
  /// Drops the older half of the segments.
  void forget_older_half(AccessPool& pool, ShadowCounters& counters);
  void clear(AccessPool& pool, ShadowCounters& counters);

 private:
  /// Where it is inlined, GCC multiplies instead of selecting, which takes longer than the call.
  [[nodiscard, gnu::noinline]] std::size_t first_ending_after(Address address) const;
  void coalesce(std::size_t from, std::size_t to, AccessPool& pool, ShadowCounters& counters);

  std::vector<Segment> segments_;  ///< sorted, disjoint, none empty
  std::vector<Segment> rebuilt_;   ///< scratch of remember()
  PlainList<Reference> spare_;     ///< empty: the memory of a list that was dropped
};

}  // namespace streamsan::ordering
