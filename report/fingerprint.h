// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fingerprints: by what a finding is recognised in another run.
//
// Finding::fingerprint is made by the judge of modules and offsets: it differs between any two places of one build,
// with or without a symbolizer, wherever the modules are loaded and whatever the numbers of streams, threads and
// operations are. But if a line of code is added to a module, the code behind it moves, and the fingerprints there
// change.
//
// The LASTING fingerprint is made of what is left: kind and hazard, the functions called, the kernels, and the
// program's functions in the call stacks, by name. Lines do not count. Two findings of one build can have the same (two
// copies in one function that both race with one kernel); who compares builds pairs them up in order (diff.h). It
// changes when a function is renamed, gets other parameters, or is called from elsewhere; and between a build with -g
// and one without, because inlined functions have names only with it. Where a frame has no name, module and offset
// count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/common/fingerprint.h"
#include "report/finding.h"

namespace streamsan::report {

using Fingerprint = HashedWords<Fnv1a>;

std::string lasting_fingerprint(const Finding& finding);

/// A fingerprint of a race that is the same whichever of the two places came first: two host threads may settle that
/// differently in each run. Empty: the finding is no race.
std::string mirrored_fingerprint(const Finding& finding);

/// Findings of one fingerprint: of several processes, or certain in one launch and possible in another.
struct Folded {
  const Finding* worst = nullptr;  ///< one that is not suppressed, if there is any; of these the most severe, the first
  std::uint64_t count = 0;         ///< how often it was met
  std::vector<std::uint32_t> pids;
  [[nodiscard]] bool suppressed() const { return worst->suppressed; }
};

/// In the order in which they were met first. The findings must outlive it.
std::vector<Folded> folded(const std::vector<const Finding*>& findings);

}  // namespace streamsan::report
