// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is different between the findings of two runs.
//
// Findings of one fingerprint are one: several processes may have met it. They are paired in three passes, each among
// those that the pass before left over:
//   1. equal fingerprints: the same places of the same build;
//   2. equal lasting fingerprints: the program was built anew, and lines or offsets have moved. Where a function has
//      several that look alike they are paired in the order of their lines, so that the number of new ones is right,
//      though perhaps not which one;
//   3. races between the same two places that came in the other order this time.
// A suppressed finding counts as absent.
//
// Of host threads that are not ordered it is chance which one is first, and so whether the run shows an error or only a
// possible race (Finding::passed_on). A finding that differs in nothing else is unchanged: it neither came with the
// change of the program nor went with it.
//
// Every synchronising call has a finding, so a new or missing one means nothing. Only verdicts are compared: calls that
// could now be removed or do less, and could not before. That needs two runs with `--syncs`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/finding.h"
#include "report/fingerprint.h"

namespace streamsan::report {

struct DiffEntry {
  const Finding* before = nullptr;  ///< nullptr: there is none, or it is suppressed
  const Finding* after = nullptr;
  std::uint64_t count_before = 0;
  std::uint64_t count_after = 0;
};

struct SyncDiff {
  std::vector<DiffEntry> improvable;  ///< could go or do less, and could not before, or were not there
  std::vector<DiffEntry> settled;     ///< could before, and cannot any more, or are gone
  std::vector<DiffEntry> changed;     ///< could before and can now, but otherwise
  std::size_t unchanged = 0;          ///< could before and can now, alike
};

struct Diff {
  std::vector<DiffEntry> fresh;
  std::vector<DiffEntry> worse;   ///< more severe than before
  std::vector<DiffEntry> better;  ///< less severe
  std::vector<DiffEntry> gone;
  std::vector<DiffEntry> suppressed;  ///< not before, and now
  std::vector<DiffEntry> unchanged;
  std::size_t by_order_of_threads = 0;  ///< of the unchanged ones: those whose severity differs for that reason
  std::optional<SyncDiff> syncs;
  std::vector<std::string> doubts;  ///< reasons to distrust the comparison; a line each

  /// Something new, or worse, of this severity or a graver one.
  [[nodiscard]] bool fails(Severity severity) const;
};

/// Both must outlive what is returned.
Diff compare(const std::vector<Finding>& before, const Summary& summary_before, const std::vector<Finding>& after,
             const Summary& summary_after);

}  // namespace streamsan::report
