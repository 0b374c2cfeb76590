// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From hazards to findings: what a person reads.
//
// All wording about order lives here (its counterpart, layout, in report/text.cpp): who touched what, why nothing
// orders the two, and what to write where to repair it, in the names the program itself uses (cudaStreamWaitEvent for a
// program of the run-time API, cuStreamWaitEvent for one of the driver API).
//
// SEVERITY. Certain and unordered is an error. Certain and ordered by an assumed rule is latent, and so is a block that
// goes back to its pool too early. A conflict that may be two disjoint parts of one buffer is possible, whatever its
// order.
//
// FINGERPRINT. From the kind of hazard and, for both accesses, the function called, the kernel and the places in the
// program's own modules as (module, offset): equal in every run of one build, with or without a symbolizer. Hazards of
// equal fingerprint and severity are one finding.
//
// REPEATS AND GROUPS. A less severe race of the same two places is folded into the more severe one, which has the same
// repair. Findings that one missing edge explains (missing_edges.h) are a group: each keeps its places, fingerprint and
// severity, and all have one repair.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "judge/event_misuse.h"
#include "judge/failed_calls.h"
#include "judge/hazards.h"
#include "judge/places.h"
#include "judge/symbolizer.h"
#include "report/finding.h"

namespace streamsan::judge {

report::Severity severity_of(const ordering::Hazard& hazard);

/// Findings in the order in which they were met. Equal ones, of one fingerprint and severity, are one with a count.
class FoldedFindings {
 public:
  /// True: none was equal to it.
  bool add(report::Finding finding);
  [[nodiscard]] std::vector<report::Finding>& all() { return findings_; }
  std::vector<report::Finding> take() { return std::move(findings_); }

 private:
  std::vector<report::Finding> findings_;
  std::map<std::pair<std::string, report::Severity>, std::size_t> known_;
};

/// The findings of the hazards that stand, in the order in which they were met. `measuring`: kernels are measured in
/// this process, so that no report advises it.
std::vector<report::Finding> explain(std::span<const KeptHazard> hazards, const Marks& marks, const Places& places,
                                     Symbolizer& symbolizer, bool measuring = false);

/// The findings about events that do nothing, without those that a hazard's explanation already names. `whole_run`:
/// nothing of the run is missing from the trace; else what nothing records may have been recorded later.
std::vector<report::Finding> explain(std::span<const Misuse> misuses, std::span<const KeptHazard> hazards,
                                     const FailedCalls& failed_calls, const Places& places, Symbolizer& symbolizer,
                                     bool whole_run = true);

}  // namespace streamsan::judge
