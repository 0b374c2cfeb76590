// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a worker found, as plain data for the output formats.
//
// Two files are joined. clang-tidy's own export holds the diagnostics that survived NOLINT and the filters, with notes
// and replacements, but knows neither lines nor functions; the sidecar (tidy/sidecar.h) holds what our checks know of
// each finding, but not whether it was shown. Only what is in the first is a result.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "clang/Tooling/Core/Diagnostic.h"

namespace streamsan::analyzer {

struct Place {
  std::string file;  ///< absolute; empty: none
  std::uint32_t offset = 0;
  std::uint32_t line = 0;  ///< 1-based; 0: not known
  std::uint32_t column = 0;
  std::uint32_t character = 0;  ///< as column, in characters and not bytes
};

struct Remark {
  Place place;
  std::string message;
  std::string lane;  ///< the stream, or "host"
};

struct Result {
  std::string check;           ///< "streamsan-cross-stream-race", or a compiler warning that was asked for
  std::optional<Level> level;  ///< nothing: not one of ours
  std::string function;
  std::string fingerprint;
  std::string places;  ///< places of both sides and where they meet, in any file
  Remark site;
  std::vector<Remark> notes;
  clang::tooling::Diagnostic diagnostic;  ///< the diagnostic with its replacements
  bool as_error = false;                  ///< --warnings-as-errors
  bool known = false;                     ///< the baseline has it
  bool repeated = false;                  ///< an earlier file had the same one: it stands in a header

  /// Makes exit code 1: correctness, or an error by the user's will.
  [[nodiscard]] bool counts() const;
};

struct Unanalysed {
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  std::string reason;
};

struct FileResults {
  std::string file;
  std::string problem;  ///< why it was not analysed, or not whole; empty: it was
  std::vector<Result> results;
  std::vector<Remark> compile_errors;
  std::vector<Unanalysed> skipped;
  std::vector<std::string> known_fingerprints;              ///< findings that a baseline in the configuration kept back
  std::vector<std::pair<std::string, std::string>> hidden;  ///< latent findings not shown: check, fingerprint
  std::vector<std::string> not_followed;  ///< functions of other files that are given streams or events
  std::set<std::string> summaries_written, summaries_read;  ///< their names (tidy/summary_files.h)
  std::vector<std::string> errors;                          ///< of the checks, such as a model file that cannot be read
  std::uint32_t functions_analyzed = 0;
  bool analysed = false;  ///< the checks ran
  std::string dump;
};

/// Lines and columns of offsets. Keeps the files it has read.
class SourceLines {
 public:
  void complete(Place& place);

 private:
  std::map<std::string, std::string> texts_;
};

/// Reads what a worker left for `file`: its export and its sidecar; either may be missing. `status` is its wait status.
/// `shown` are repaired texts (preparation.h), of equal length: offsets hold for both.
FileResults read_results(const std::string& file, const std::string& export_fixes, const std::string& sidecar,
                         const std::string& stderr_text, int status, const std::string& warnings_as_errors,
                         SourceLines& lines);

}  // namespace streamsan::analyzer
