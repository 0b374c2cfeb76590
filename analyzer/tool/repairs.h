// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What --fix does: the repairs of all results, written once all workers are done.
//
// Workers only propose. If each wrote by itself, two that see one header would repair it twice.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "analyzer/tool/results.h"

namespace streamsan::analyzer {

struct Repaired {
  std::size_t findings = 0;          ///< repaired
  std::size_t in_conflict = 0;       ///< not repaired: another repair changes the same text. Run again
  std::set<std::string> files;       ///< written
  std::vector<std::string> changed;  ///< not written: they are younger than the analysis
  std::vector<std::string> errors;   ///< repairs that could not be made, each with the reason
};

/// Repairs a finding whole or not at all. Equal repairs are made once. A file that was written at or after
/// `analysed_since`, when the first source was read, stays as it is.
Repaired repair(const std::vector<FileResults>& files, std::filesystem::file_time_type analysed_since);

/// All results as clang-apply-replacements reads them.
std::string print_replacements(const std::vector<FileResults>& files);

}  // namespace streamsan::analyzer
