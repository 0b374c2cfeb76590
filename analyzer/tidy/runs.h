// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares runs (interpreter/follow.h) with the findings of the analysis: which of these they refute, which conflicts
// they add.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/interpreter/follow.h"
#include "analyzer/tidy/sides.h"

namespace streamsan::analyzer {

/// A race: only a run can say which operations occur and whether they meet.
bool is_race(const Hazard& hazard);

/// Findings on which a run that goes the same way has the last word.
class LeftToRuns {
 public:
  /// What a finding supposes: how many rounds a loop has; in which order methods are called; or what the values are on
  /// which main()'s way depends.
  enum class Supposed : std::uint8_t { Rounds, Calls, Values };
  /// The lines on the way to a conflict of two calls, in their order. On the way to a graph's launch on memory that was
  /// freed, the work that captured the memory comes first.
  using Way = std::vector<Line>;
  struct Left {
    std::size_t finding;  ///< its number
    Way way;
    Supposed supposed;
  };

  void add(std::size_t finding, const Hazard& hazard, Supposed supposed);
  [[nodiscard]] bool empty() const { return all_.empty(); }
  /// Takes out of the findings, whose numbers are those of add(), what runs have refuted.
  void settle(const Followed& followed, std::vector<Finding>& findings) const;

 private:
  std::vector<Left> all_;
};

/// Appends what only runs have found.
void add_found_by_runs(Followed& followed, std::vector<Finding>& findings);
/// For --dump-ir; empty: nothing was followed.
std::string text_of(const Followed& followed);

}  // namespace streamsan::analyzer
