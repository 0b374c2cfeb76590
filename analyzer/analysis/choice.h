// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses which of the raised hazards are reported.
//
// One missing order shows in many pairs: whatever ran on one stream after the first access meets whatever runs on the
// other. So two kinds of pairs are reported: each op with the last conflicting access of each other stream, and each
// access with the first op of each other stream that conflicts with it.
//
// The analysis copies an op where the paths that lead to it differ; to the reader it is one op. A hazard that only some
// of its copies show is true on some paths only.
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

  /// Must be called for each op, before its hazards are added.
  void visit(OpIndex index);
  void add(Raised raised) { raised_.push_back(std::move(raised)); }
  /// Records that this pair is ordered; another inlined copy of the ops may not be.
  void note_ordered(OpIndex later, OpIndex earlier);
  /// Drops the races that a useless wait fails to prevent: the wait itself is reported, and they follow from it.
  void drop_what_useless_waits_miss();
  /// The hazards to report, in the order of the ops. Called once, at the end.
  std::vector<Hazard> take();

 private:
  void weigh_copies();

  const Values& values_;
  std::vector<Raised> raised_;
  std::map<std::uint32_t, std::set<OpIndex>> visited_copies_;  ///< the copies of each origin
  std::set<std::pair<std::uint32_t, std::uint32_t>> ordered_;  ///< origins of pairs in order: (later, earlier)
};

}  // namespace streamsan::analyzer
