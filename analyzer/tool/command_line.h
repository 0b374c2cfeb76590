// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the user asked for.
//
// clang-tidy's words are used where clang-tidy has the option, with one dash or two, so that scripts that call
// clang-tidy (run-clang-tidy, clang-tidy-diff, editors) can call this program in its place.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace streamsan::analyzer {

struct CommandLine {
  std::string build_dir;                          ///< -p; empty: the database is looked for above the first source
  std::vector<std::string> files;                 ///< empty: those of the database that match source_filter
  std::optional<std::vector<std::string>> flags;  ///< after `--`: no database is read
  std::vector<std::string> extra_args;
  std::vector<std::string> extra_args_before;
  std::string source_filter;

  std::string checks;
  std::string warnings_as_errors;
  std::string config;
  std::string config_file;
  std::optional<std::string> header_filter;  ///< empty: no headers
  std::string exclude_header_filter;
  std::string line_filter;
  std::string levels;
  std::vector<std::string> models;
  std::string default_stream;

  bool fix = false;
  std::string export_fixes;
  std::string sarif;
  bool github = false;
  std::string baseline;
  std::string write_baseline;

  bool cross_tu = false;
  std::string summaries_in;
  std::string summaries_out;

  std::string cuda_path;
  std::string resource_dir;
  unsigned jobs = 0;
  bool quiet = false;
  std::optional<bool> color;
  std::optional<bool> follow_main;
  bool dump_ir = false;
  bool show_skipped = false;
  bool show_errors = false;
  bool driver_log = false;

  bool list_checks = false;
  bool verify_config = false;
  bool dump_config = false;
  bool explain_config = false;
};

/// Reads the words. If the program is to end at once (--help, --version, a mistake: reported in one line on stderr),
/// the exit code is in `exit_code` and there is no command line.
std::optional<CommandLine> read_command_line(int argc, char** argv, int& exit_code);

}  // namespace streamsan::analyzer
