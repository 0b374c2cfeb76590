// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Suppressions: which findings the user does not want to see. The syntax and the matching are those of Clang's
// sanitizers ("type:pattern", one a line, # comments), so that people know them already.
//
//   race, premature-free, host-race, event-misuse, unneeded-sync
//             a finding of that kind in which the pattern matches a function, file or module of a call stack of one of
//             the accesses, its kernel, or the function called; of a misused event, which has no accesses, of the
//             calls on it
//   all       the same, for every kind
//   function  any function in the call stacks of the accesses, of whatever kind (spelled called_from by some)
//   kernel    the name of a kernel
//   stream    the name of a stream, as reports print it
//   lib       path of a module in the call stacks
//   fingerprint  the finding with that fingerprint, no pattern
//
// "A <-> B" are the patterns of two sides: one access matches the one, and the other access the other.
// A pattern matches anywhere in the name; ^ and $ tie it to the beginning and the end; * stands for any characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/finding.h"

namespace streamsan::report {

bool pattern_matches(std::string_view pattern, std::string_view name);

class Suppressions {
 public:
  struct Entry {
    std::optional<Kind> kind;  ///< findings of this kind; nothing: of every kind
    SuppressionScope scope = SuppressionScope::All;
    std::string pattern;
    std::string origin;  ///< "file:line"
    std::uint64_t hits = 0;
    /// "race", "kernel": as it is spelled in the file.
    [[nodiscard]] const char* type() const { return kind ? name(*kind) : name(scope); }
  };

  /// Adds the entries of a file's text. Returns what is wrong with it, with the line; empty: nothing.
  std::string add(std::string_view text, const std::string& file_name);
  /// True if an entry matches; that entry's hits go up by the finding's count.
  bool suppresses(const Finding& finding);
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// A line for a suppressions file that would have suppressed this finding: never by the function that all others are
/// called from.
std::string suppression_for(const Finding& finding);

}  // namespace streamsan::report
