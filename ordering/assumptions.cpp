// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spans of epochs by rule, for each lane; assumptions.h says why that is enough.
#include "ordering/assumptions.h"

#include <algorithm>

namespace streamsan::ordering {

void Assumptions::note(Rule rule, const VectorClock& covered) {
  if (covered.size() > lanes_.size()) lanes_.resize(covered.size());
  for (LaneSlot lane = 0; lane < covered.size(); ++lane) {
    std::vector<Span>& spans = lanes_[lane];
    const Epoch up_to = covered[lane];
    if (up_to == 0 || (!spans.empty() && spans.back().up_to >= up_to)) continue;
    if (!spans.empty() && spans.back().rule == rule) {
      spans.back().up_to = up_to;
      continue;
    }
    if (spans.size() == kMostSpans) spans.erase(spans.begin());
    spans.push_back({up_to, rule});
  }
}

std::optional<Rule> Assumptions::covering(LaneSlot lane, Epoch epoch) const {
  if (lane >= lanes_.size()) return std::nullopt;
  const std::vector<Span>& spans = lanes_[lane];
  const auto found = std::partition_point(spans.begin(), spans.end(), [&](const Span& s) { return s.up_to < epoch; });
  if (found == spans.end()) return std::nullopt;
  return found->rule;
}

}  // namespace streamsan::ordering
