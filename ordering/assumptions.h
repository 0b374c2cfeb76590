// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which assumed rule orders a latent pair?
//
// Every assumed edge leads to a host thread: some call is assumed to have waited when it returned. So if only the
// assumed clock covers an access, some such return made it so; the rule of the first such return is the one that the
// program relies on. For each lane this keeps, oldest first, "up to this epoch, covered by this rule"; neighbours with
// the same rule are one entry. Past kMostSpans the oldest entry is dropped, and its accesses count as covered by the
// next one: the finding stays, but it may name the second rule that covered the access.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ordering/rules.h"
#include "ordering/two_clocks.h"

namespace streamsan::ordering {

class Assumptions {
 public:
  static constexpr std::size_t kMostSpans = 16;

  /// A call returned that is assumed, by `rule`, to have waited for everything in `covered`.
  void note(Rule rule, const VectorClock& covered);
  /// The first rule that covered the operation.
  [[nodiscard]] std::optional<Rule> covering(LaneSlot lane, Epoch epoch) const;

 private:
  struct Span {
    Epoch up_to = 0;
    Rule rule{};
  };
  std::vector<std::vector<Span>> lanes_;
};

}  // namespace streamsan::ordering
