// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses which of the raised hazards are reported.
//
// One missing order shows in many pairs: whatever ran on one stream after the first access meets whatever runs on the
// other. Reported are: for each op the last conflicting access of each other stream, and for each access the first op
// of each other stream that conflicts with it.
//
// The analysis copies an op where the paths that lead to it differ; to the reader it is one op. What only some of its
// copies show is true on some paths.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/analysis/values.h"

namespace streamsan::analyzer {

/// A hazard with the ops that it is about, to choose between hazards of one cause.
struct Raised {
  Hazard hazard;
  OpIndex later = kNoOp;
  OpIndex earlier = kNoOp;
  ValueId memory = kUnknown;
  ValueId later_stream = kUnknown;
  ValueId earlier_stream = kUnknown;
  bool other_iteration = false;
};

class Choice {
 public:
  explicit Choice(const Values& values) : values_(values) {}

  /// All ops that are asked about, before their hazards.
  void visit(OpIndex index);
  void add(Raised raised) { raised_.push_back(std::move(raised)); }
  /// Records that this pair is ordered; another inlined copy of the ops may not be.
  void note_ordered(OpIndex later, OpIndex earlier);
  /// A wait for nothing is reported where it stands: what it fails to order follows from it.
  void drop_what_useless_waits_miss();
  /// In the order of the ops. Once, at the end.
  std::vector<Hazard> take();

 private:
  void weigh_copies();

  const Values& values_;
  std::vector<Raised> raised_;
  std::map<std::uint32_t, std::set<OpIndex>> visited_copies_;  ///< by origin
  std::set<std::pair<std::uint32_t, std::uint32_t>> ordered_;  ///< origins: later, earlier
};

}  // namespace streamsan::analyzer
