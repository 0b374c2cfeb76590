// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The results for machines: SARIF 2.1.0, and GitHub's annotations.
#pragma once

#include <string>
#include <vector>

#include "analyzer/tool/results.h"

namespace streamsan::analyzer {

/// A SARIF log. `compared`: a baseline was read, and each result says whether it is new.
std::string print_sarif(const std::vector<FileResults>& files, bool compared);

/// "::warning file=...::message" for each new result, and for each file that was not analysed.
std::string print_github(const std::vector<FileResults>& files);

}  // namespace streamsan::analyzer
