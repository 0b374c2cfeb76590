// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The result of analysing one translation unit, made once and read by every check.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/lowering/lowering.h"

namespace clang {
class ASTContext;
class Preprocessor;
}  // namespace clang

namespace streamsan::analyzer {

/// Settings, from clang-tidy's CheckOptions (`streamsan.Levels: definite;likely`), see settings.cpp.
struct Settings {
  std::vector<Level> levels{Level::Definite, Level::Likely};
  std::map<Check, std::vector<Level>> levels_of;  ///< `streamsan-cross-stream-race.Levels`
  std::vector<std::string> model_files;           ///< YAML
  std::string summaries_in;                       ///< folder of *.json, read
  std::string summaries_out;                      ///< folder, written: one file for each translation unit
  std::string baseline;                           ///< fingerprints that are not to be reported again
  bool per_thread_default_stream = false;         ///< `streamsan.DefaultStream: per-thread`
  bool dump_ir = false;
  bool follow_main = true;                 ///< main() is followed step by step as well, see interpreter/follow.h
  std::uint64_t most_steps = 100'000'000;  ///< limit for one translation unit, see EngineOptions

  [[nodiscard]] bool shows(Check check, Level level) const {
    const auto own = levels_of.find(check);
    const std::vector<Level>& shown = own == levels_of.end() ? levels : own->second;
    return std::find(shown.begin(), shown.end(), level) != shown.end();
  }
};

struct Analysis {
  std::vector<Finding> findings;  ///< findings of the wanted levels, in source order, without duplicates
  std::vector<Finding> known;     ///< those that the baseline has already
  std::vector<Finding> hidden;    ///< latent ones that were not asked for: counted
  std::vector<Skipped> skipped;
  std::vector<std::string> not_followed;  ///< functions of other files that are given streams or events, by their USR
  std::uint32_t functions_seen = 0;
  std::uint32_t functions_analyzed = 0;
  std::uint32_t with_streams = 0;        ///< analysed functions that enqueue, order or allocate anything
  std::string dump;                      ///< the stream IR as text, if asked for
  std::string summary;                   ///< the name of the one that was written (summary_files.h); empty: none was
  std::set<std::string> read_summaries;  ///< the names of those that were read
  std::vector<std::string> errors;       ///< one line each: a file that could not be read or written
};

/// Lowers, closes, analyses and words. `preprocessor`: the compiler instance's, for code that is parsed behind the
/// file; nullptr: none is.
Analysis analyze_translation_unit(clang::ASTContext& context, const Settings& settings,
                                  clang::Preprocessor* preprocessor = nullptr);

}  // namespace streamsan::analyzer
