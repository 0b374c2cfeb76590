// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The documented and the assumed clock of one place, side by side.
//
// The documented clock follows edges that NVIDIA promises. The assumed clock follows those and the edges that today's
// driver also makes. So everything documented is also assumed:
//   invariant: documented <= assumed in every lane.
// A documented edge joins both clocks, an assumed edge joins the assumed clock only, so the invariant holds by
// construction, in every variant (vector_clock.h). An earlier access found in neither clock is unordered; found in the
// assumed clock only, it is latent.
#pragma once

#include "ordering/vector_clock.h"

namespace streamsan::ordering {

struct TwoClocks {
  VectorClock documented;
  VectorClock assumed;

  /// A documented edge: each clock hands on what it knows.
  void join(const TwoClocks& other) {
    documented.join(other.documented);
    assumed.join(other.assumed);
  }
  void join(const TwoClocks& other, const Among& among) {
    documented.join(other.documented, among);
    assumed.join(other.assumed, among);
  }
  void set(LaneSlot lane, Epoch epoch) {
    documented.set(lane, epoch);
    assumed.set(lane, epoch);
  }
  [[nodiscard]] bool within(const TwoClocks& other) const {
    return documented.within(other.documented) && assumed.within(other.assumed);
  }
  void clear() {
    documented.clear();
    assumed.clear();
  }
};

}  // namespace streamsan::ordering
