// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings that one missing edge explains, for people: the most severe is shown in full, with the repair of all, and
// the others follow it in a few lines each.
//
// Which findings belong together was decided in judge/ (Finding::group). Which of them are shown depends on severities
// and suppressions: the one in full is the most severe of those shown.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "report/finding.h"
#include "report/text.h"

namespace streamsan::report {

struct EdgeGroup {
  const Finding* worst = nullptr;
  std::vector<const Finding*> others;  ///< in the order given
};

/// In the order in which the first finding of each was given; what stands alone is a group of one. The findings must
/// outlive it.
std::vector<EdgeGroup> grouped(std::span<const Finding* const> findings);

/// The whole group: the worst, and of the others both accesses with their innermost places. `below` is asked for a line
/// to stand right below each.
std::string text(const EdgeGroup& group, const TextOptions& options,
                 const std::function<std::string(const Finding&)>& below = nullptr);

}  // namespace streamsan::report
