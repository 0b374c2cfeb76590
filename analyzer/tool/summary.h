// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last line of a run: what was found, and what was looked at.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/tool/baseline.h"
#include "analyzer/tool/results.h"

namespace streamsan::analyzer {

class Summary {
 public:
  explicit Summary(const std::vector<FileResults>& files);

  /// `baseline`: the one compared with, if any.
  /// `across_files`: functions of other files were looked into, as far as they were given.
  [[nodiscard]] std::string text(const Baseline* baseline, bool across_files) const;
  [[nodiscard]] bool whole() const { return problems_.empty() && analysed_ == relevant_; }
  [[nodiscard]] std::size_t files_not_analysed() const { return problems_.size(); }
  /// Some new finding makes exit code 1.
  [[nodiscard]] bool counts() const { return counts_; }

 private:
  const std::vector<FileResults>& files_;
  std::size_t shown_ = 0;
  std::size_t known_ = 0;
  std::size_t relevant_ = 0;
  std::size_t analysed_ = 0;
  std::size_t looked_at_ = 0;
  std::size_t with_findings_ = 0;
  std::map<Level, std::size_t> levels_;
  std::set<std::string> not_followed_;                    ///< functions of other files
  std::set<std::pair<std::string, std::string>> hidden_;  ///< latent findings that are not shown
  std::vector<std::string> problems_;
  bool counts_ = false;
};

}  // namespace streamsan::analyzer
