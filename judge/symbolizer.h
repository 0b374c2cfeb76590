// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Function names and source lines for code addresses.
//
// Of a module without debug information the names are those of its symbol tables (elf_symbols.h). For the others
// llvm-symbolizer or addr2line is run, once for each module with all of its addresses: both read one address a line on
// stdin and know the addr2line options. No library of ours parses DWARF. Where the tool itself knows only a name of a
// symbol table, that is kept only if the address lies in the symbol.
//
// Never fails: without a tool, or when it dies or takes longer than a minute, frames have the names of symbol tables,
// and problem() has one line about it; without the module's file, a frame keeps its module and offset. A file that is
// not the recorded one is not used either: missing lines are better than wrong ones.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "judge/elf_symbols.h"
#include "report/finding.h"

namespace streamsan::judge {

class Symbolizer {
 public:
  struct Options {
    bool enabled = true;
    std::string tool;  ///< path; empty: the first that is found
  };

  explicit Symbolizer(const Options& options);

  /// May the file at `module` be asked about a module recorded with this build id (raw bytes, may be empty)? If not,
  /// warnings() says why. Remembered, so that one run has one answer.
  bool stands(const std::string& module, const std::string& build_id);
  /// Announces an address, relative to the load bias of its module; looked up at the next frames().
  void want(const std::string& module, std::uint64_t offset);
  /// The frames of one return address, innermost inlined function first; never empty.
  std::vector<report::Frame> frames(const std::string& module, std::uint64_t offset, std::uint64_t address);

  [[nodiscard]] const std::string& tool() const { return tool_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// One line for each module whose file is gone or was built again.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// First of the known tools in PATH; empty: none.
  static std::string find_tool();

 private:
  struct Line {
    std::string function;
    std::string file;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
  };
  void look_up(const std::string& module, const std::set<std::uint64_t>& offsets);
  /// False: the tool could not be run, or failed.
  bool ask_tool(const std::string& module, const std::set<std::uint64_t>& offsets);
  void take_names(const std::string& module, const std::set<std::uint64_t>& offsets, const ElfSymbols& symbols);
  /// Takes away names of neighbours.
  void drop_wrong_names(const std::string& module, const std::set<std::uint64_t>& offsets, const ElfSymbols& symbols);

  bool enabled_;
  std::string tool_;
  std::string problem_;
  std::vector<std::string> warnings_;
  std::map<std::pair<std::string, std::string>, bool> stands_;  ///< by path and build id
  std::set<std::string> answered_;                              ///< modules of which all was read that they have
  std::map<std::string, std::set<std::uint64_t>> wanted_;
  std::map<std::pair<std::string, std::uint64_t>, std::vector<Line>> known_;
};

}  // namespace streamsan::judge
