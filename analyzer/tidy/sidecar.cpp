// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sidecar: one JSON object on each line, of one of these shapes.
//
//   {"finding": {"check", "file", "offset", "line", "column", "message", "function", "level", "lanes", "fingerprint"}}
//       for each diagnostic handed to clang-tidy, which may still drop it (NOLINT, filters): join on check, file,
//       offset
//   {"known": {"check", "fingerprint"}}         a finding that the baseline has
//   {"hidden": {"check", "fingerprint"}}        a latent finding, where that level is not shown
//   {"skipped": {"function", "file", "line", "reason"}}
//   {"error": "..."}                            a file that could not be read or written
//   {"not_followed": "a USR"}
//   {"summaries": {"written": NAME, "read": [NAME]}}   where there are any (summary_files.h)
//   {"counts": {"functions_seen", "functions_analyzed", "with_streams"}}
//   {"dump": "..."}                             the stream IR, if asked for
//
// "counts" is written once for each translation unit: a file without it was not analysed.
#include "analyzer/tidy/sidecar.h"

#include <cstdlib>

#include "analyzer/tidy/json_text.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/Support/raw_ostream.h"

namespace streamsan::analyzer {
namespace {

const char* sidecar() { return std::getenv("STREAMSAN_TIDY_SIDECAR"); }

void append(const char* kind, llvm::json::Value value) {
  if (!is_worker()) {
    return;
  }
  std::error_code failed;
  llvm::raw_fd_ostream out(sidecar(), failed, llvm::sys::fs::OF_Append);
  if (!failed) {
    out << llvm::json::Value(llvm::json::Object{{kind, std::move(value)}}) << "\n";
  }
}

/// Where both sides are and where the ways to them meet, in whatever files: equal for one defect that several
/// translation units show.
std::string places_of(const Finding& finding) {
  std::string out;
  for (const ir::Site& site : finding.sites) {
    out += site.file + ":" + std::to_string(site.line) + ":" + std::to_string(site.column) + "\n";
  }
  return out;
}

llvm::json::Array list_of(const std::set<std::string>& names) {
  llvm::json::Array list;
  for (const std::string& name : names) {
    list.push_back(utf8(name));
  }
  return list;
}

}  // namespace

bool is_worker() { return sidecar() != nullptr && *sidecar() != '\0'; }

void note_reported(const Finding& finding, clang::SourceLocation place, const clang::SourceManager& sources) {
  const clang::SourceLocation in_file = sources.getFileLoc(place);
  llvm::json::Array lanes;
  for (const std::string& lane : finding.lanes) {
    lanes.push_back(utf8(lane));
  }
  append("finding", llvm::json::Object{{"check", std::string("streamsan-") + id(finding.check)},
                                       {"file", utf8(sources.getFilename(in_file).str())},
                                       {"offset", sources.getFileOffset(in_file)},
                                       {"line", sources.getSpellingLineNumber(in_file)},
                                       {"column", sources.getSpellingColumnNumber(in_file)},
                                       {"message", utf8(finding.message)},
                                       {"function", utf8(finding.function)},
                                       {"level", name(finding.level)},
                                       {"lanes", std::move(lanes)},
                                       {"fingerprint", finding.fingerprint},
                                       {"places", utf8(places_of(finding))}});
}

void note_analysed(const Analysis& analysis) {
  for (const Skipped& skipped : analysis.skipped) {
    append("skipped", llvm::json::Object{{"function", utf8(skipped.function)},
                                         {"file", utf8(skipped.file)},
                                         {"line", skipped.line},
                                         {"reason", utf8(skipped.reason)}});
  }
  for (const Finding& known : analysis.known) {
    append("known", llvm::json::Object{{"check", std::string("streamsan-") + id(known.check)},
                                       {"fingerprint", known.fingerprint}});
  }
  for (const Finding& hidden : analysis.hidden) {
    append("hidden", llvm::json::Object{{"check", std::string("streamsan-") + id(hidden.check)},
                                        {"fingerprint", hidden.fingerprint}});
  }
  for (const std::string& error : analysis.errors) {
    append("error", utf8(error));
  }
  if (!analysis.dump.empty()) {
    append("dump", utf8(analysis.dump));
  }
  for (const std::string& usr : analysis.not_followed) {
    append("not_followed", utf8(usr));
  }
  if (!analysis.summary.empty() || !analysis.read_summaries.empty()) {
    append("summaries",
           llvm::json::Object{{"written", utf8(analysis.summary)}, {"read", list_of(analysis.read_summaries)}});
  }
  append("counts", llvm::json::Object{{"functions_seen", analysis.functions_seen},
                                      {"functions_analyzed", analysis.functions_analyzed},
                                      {"with_streams", analysis.with_streams}});
}

}  // namespace streamsan::analyzer
