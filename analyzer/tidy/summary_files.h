// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The folder in which translation units leave for each other what their functions do.
//
//   NAME.json    the functions (ir/text.h); NAME is that of the source, with a hash of its path
//   NAME.links   what they use and call (ir/links.h), which is read first: it says of which units which functions
//                matter
//
// A unit that reads the folder reads all links in it, and of the summaries only what its own functions need. A summary
// without links is read whole.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analyzer/ir/ir.h"
#include "analyzer/ir/links.h"

namespace streamsan::analyzer {

/// NAME for a source, by its absolute path. `compilation`: how many ways to compile it come before this one.
std::string summary_name(const std::string& source, unsigned compilation = 0);

/// Writes both files, each whole or not at all: others may be reading the folder. What goes wrong is one line in
/// `errors`.
void write_summaries(const ir::Program& program, const ir::Links& links, const std::string& name,
                     const std::string& folder, std::vector<std::string>& errors);

/// Adds to the program what it needs of the others. The result: the names of the summaries that were read.
std::set<std::string> read_summaries(ir::Program& program, const ir::Links& own, const std::string& own_name,
                                     const std::string& folder, std::vector<std::string>& errors);

}  // namespace streamsan::analyzer
