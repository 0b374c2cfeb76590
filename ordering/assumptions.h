// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which assumed rule orders a latent pair?
//
// Every assumed edge leads to a host thread: some call is assumed to have waited when it returned. So when an access is
// known to the assumed clock only, some such return covered it, and the first one that did is the rule the program
// leans on. For each lane this keeps, oldest first, "up to this epoch, covered by this rule"; neighbours with the same
// rule are one entry. Past kMostSpans the oldest is dropped, and its pairs are put down to the next rule: the finding
// stands, its rule may be the second to have covered it.
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
