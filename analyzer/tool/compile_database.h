// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which sources are to be analysed, and how each is compiled.
#pragma once

#include <string>
#include <vector>

#include "analyzer/tool/command_line.h"
#include "analyzer/tool/nvcc_flags.h"

namespace streamsan::analyzer {

/// One way in which a source is compiled.
struct Compilation {
  std::string directory;
  Translation translation;
};

struct Source {
  std::string file;                       ///< absolute, without dots
  std::vector<Compilation> compilations;  ///< more than one: a file of several targets
  std::string borrowed_from;              ///< a header: the source whose flags it has
  std::string error;                      ///< why it cannot be compiled
};

/// In the order of the command line, or of the database, each file once however often and by whatever names it is
/// given. A database that cannot be used: one line in `error`. `remark` is a line for the user: there is no database,
/// and the sources are compiled without flags.
std::vector<Source> read_sources(const CommandLine& line, std::string& remark, std::string& error);

}  // namespace streamsan::analyzer
