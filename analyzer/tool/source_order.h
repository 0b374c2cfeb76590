// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In which order --cross-tu looks at sources: a file after those whose functions it calls. It then finds what these do
// in their summaries, and need not be looked at twice.
//
// Calls are read off the text, with that of the headers that are included by `#include "..."`, and without macros. If
// exactly one of the files defines a function, the files that call its name come later. The order is for speed alone:
// after a file was analysed, its exact needs are known (ir/links.h), and if one was missing, the file is analysed
// again. So where files call each other in a circle, the one that most of the others wait for comes first.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace streamsan::analyzer {

/// Names that matter in a file's text.
struct Mentions {
  std::set<std::string> defines;  ///< functions with a body at file or namespace level, or of a class outside of it
  std::set<std::string> calls;    ///< names behind which a parenthesis opens, in bodies
};

Mentions mentions_in(std::string_view text);

struct SourceOrder {
  std::vector<std::size_t> order;               ///< positions of files
  std::vector<std::vector<std::size_t>> after;  ///< by position: files before it in `order` that it should come after
};

SourceOrder order_of(const std::vector<Mentions>& files);

}  // namespace streamsan::analyzer
