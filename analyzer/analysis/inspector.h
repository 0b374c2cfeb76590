// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks at each op with the state that holds before it, and raises hazards. It changes no state.
//
// A class for each family asks the questions; its ask() says which of them are asked at which kind of op:
//
//   inspect_races.h     work against work, and a programmatic launch against the kernel in front of it
//   inspect_host.h      the host and the ends of memory against work
//   inspect_releases.h  the ends of tensors against work, and what follows them
//   inspect_handles.h   events, destroyed handles
//   inspect_capture.h   calls that a capture does not allow
//   inspect_syncs.h     code that is correct but slow
//
// All of them are given one look: an op, and what holds before it (look.h). cause.h finds out why there is no order;
// choice.h decides which of the hazards are reported.
#pragma once

#include <vector>

#include "analyzer/analysis/inspect_capture.h"
#include "analyzer/analysis/inspect_handles.h"
#include "analyzer/analysis/inspect_host.h"
#include "analyzer/analysis/inspect_races.h"
#include "analyzer/analysis/inspect_releases.h"
#include "analyzer/analysis/inspect_syncs.h"
#include "analyzer/analysis/look.h"

namespace streamsan::analyzer {

class Inspector {
 public:
  /// `beliefs`: those that the order was computed under; nullptr: none.
  Inspector(Values& values, Sets& sets, const Roles* roles, const Beliefs* beliefs = nullptr)
      : look_(values, sets, beliefs, roles) {}
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  void at(const Store& store, const Order& order, std::uint32_t block, std::uint32_t position);
  std::vector<Hazard> take();
  /// Some hazard is Maybe because two streams are not known to differ.
  [[nodiscard]] bool undecided() const { return look_.undecided; }
  /// The releases that an analysis of only a part of the function would report.
  [[nodiscard]] const std::vector<Settled>& settled() const { return releases_.settled(); }
  /// The steps that the questions took, in addition to one per op.
  [[nodiscard]] std::uint64_t steps() const { return look_.first_rounds.steps(); }

 private:
  Look look_;
  RaceQuestions races_{look_};
  ReleaseQuestions releases_{look_};
  HostQuestions host_{look_, releases_};
  HandleQuestions handles_{look_};
  CaptureQuestions captures_{look_};
  SyncQuestions syncs_{look_};
};

}  // namespace streamsan::analyzer
