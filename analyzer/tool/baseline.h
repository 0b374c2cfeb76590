// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings of yesterday, to be silent about: fingerprints without line numbers (tidy/fingerprint.h).
//
// The checks read the fingerprints alone; the rest of the file says to a person, and to the comparison, what each was.
#pragma once

#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "analyzer/tool/results.h"

namespace streamsan::analyzer {

class Baseline {
 public:
  struct Entry {
    std::string fingerprint;
    std::string check;
    std::string file;  ///< relative to the repository
    std::string function;
    std::string message;
  };

  /// A file that cannot be read, or is none: one line in `error`.
  static Baseline read(const std::string& path, std::string& error);
  [[nodiscard]] static std::error_code write(const std::string& path, const std::vector<FileResults>& files);

  [[nodiscard]] bool contains(const std::string& fingerprint) const { return fingerprints_.contains(fingerprint); }
  /// The number of known findings in the analysed files that were not found again.
  [[nodiscard]] std::size_t fixed(const std::vector<FileResults>& files) const;

 private:
  std::set<std::string> fingerprints_;
  std::vector<Entry> entries_;
};

}  // namespace streamsan::analyzer
