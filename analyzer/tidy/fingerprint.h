// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fingerprint, which makes a finding the same in the next run, and the baseline file, which says which findings are
// known already. fingerprint.cpp explains it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analyzer/analysis/hazard.h"

namespace streamsan::analyzer {

/// Gives each finding its fingerprint. The order counts only among equal findings.
void fingerprint(std::vector<Finding>& findings);

/// {"version": 1, "fingerprints": ["..."]}. A file that cannot be read: an empty set, and one line in `error`.
std::set<std::string> read_baseline(const std::string& path, std::string& error);

}  // namespace streamsan::analyzer
