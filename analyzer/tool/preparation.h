// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a worker is given for its source: a compile database of that source alone in Clang's words, a configuration, and
// an overlay with repaired launches. All of it lies in one folder of the scratch folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "analyzer/tool/check_selection.h"
#include "analyzer/tool/compile_database.h"
#include "analyzer/tool/launch_repair.h"
#include "analyzer/tool/workers.h"

namespace streamsan::analyzer {

/// The texts of compat/streamsan_cuda_compat.h and compat/omp.h, put into the program by the build.
extern const char* const kCompatHeader;
extern const char* const kOpenMpHeader;

struct Prepared {
  Job job;
  std::string export_fixes;                     ///< where the worker writes its diagnostics
  std::map<std::string, std::string> repaired;  ///< texts that Clang sees in place of files
  std::vector<std::string> include_folders;     ///< quoted_include_folders()
  std::string log;                              ///< the commands, for --driver-log
  std::string error;                            ///< why it cannot be analysed
};

class Preparation {
 public:
  /// No resource directory: one line in `error`. What cannot be written is thrown: no other file fares better.
  Preparation(const CommandLine& line, const std::filesystem::path& scratch, IncludedText& texts, std::string& error);

  Prepared prepare(const Source& source, const Selection& selection, std::size_t number);

 private:
  static void write(const std::filesystem::path& path, const std::string& text);
  std::vector<std::string> command(const Source& source, const Compilation& compilation, std::string& error) const;

  const CommandLine& line_;
  LaunchRepairs launch_repairs_;
  std::filesystem::path scratch_;
  std::string compat_header_;
  std::string fallback_folder_;  ///< headers that are looked for last
  std::string resource_dir_;
};

}  // namespace streamsan::analyzer
