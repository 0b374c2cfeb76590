// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The set shadow of one allocation: the exact accesses that touch many rows.
//
// It answers the same question as the interval shadow. There each byte has the accesses that touched it; here an access
// is one entry, with its bytes as a set (row_sets.h), so that a launch that touches a hundred thousand rows costs as
// much as one that touches one.
//
// Naive specification:
//     accesses a[];
//     remember(x):  a.remove_if(e is before x, by the documented clock, x stands for e, and x touches all that e does);
//                   a.push(x)
// "Stands for" means the same as in the interval shadow, and the removal loses nothing for the same reason. "x touches
// all that e does" is checked only in two cheap cases: both have the same set, or x is a run of bytes around it. Usual
// programs, which repeat themselves, are such cases. An entry that stays although others stand for it byte by byte does
// no harm: it races with nothing that the others do not race with.
//
// What is lost: past kMostSets entries the older half is forgotten (a race may be missed, none is invented).
#pragma once

#include <cstddef>
#include <vector>

#include "ordering/access_pool.h"
#include "ordering/interval_shadow.h"

namespace streamsan::ordering {

class SetShadow {
 public:
  static constexpr std::size_t kMostSets = 256;

  using Reference = IntervalShadow::Reference;  ///< its access has a set

  [[nodiscard]] const std::vector<Reference>& entries() const { return entries_; }

  void remember(const Reference& access, const VectorClock& clock, AccessPool& pool, ShadowCounters& counters);
  /// A run of bytes was touched: drops the sets in it that it stands for.
  void supersede(Range range, const Reference& access, const VectorClock& clock, AccessPool& pool,
                 ShadowCounters& counters);

  /// Drops what is known to `clock`: nothing that starts later can race with it.
  void forget_covered(const VectorClock& clock, AccessPool& pool, ShadowCounters& counters);
  void forget_older_half(AccessPool& pool, ShadowCounters& counters);
  void clear(AccessPool& pool, ShadowCounters& counters) {
    if (!entries_.empty()) drop_all(pool, counters);
  }

 private:
  void drop_all(AccessPool& pool, ShadowCounters& counters);
  template <typename Condition>
  std::uint64_t drop_if(Condition condition, AccessPool& pool, ShadowCounters& counters);

  std::vector<Reference> entries_;  ///< oldest first
};

}  // namespace streamsan::ordering
