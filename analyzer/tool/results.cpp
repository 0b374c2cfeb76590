// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The join of clang-tidy's export and the sidecar, and the verdict on whether a file was analysed; see results.h.
//
// A file counts as analysed only if the checks say so themselves (the sidecar's "counts"), there was no compile error,
// and the worker ended by itself. Nothing else is taken for silence.
#include "analyzer/tool/results.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string_view>

#include "analyzer/tidy/json_text.h"
#include "analyzer/tool/check_selection.h"
#include "analyzer/tool/files.h"
#include "clang/Tooling/DiagnosticsYaml.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/YAMLTraits.h"

namespace streamsan::analyzer {
namespace {

using clang::tooling::Diagnostic;
using clang::tooling::DiagnosticMessage;

/// What the checks said of one finding.
struct Entry {
  std::string check;
  std::string message;
  std::string function;
  std::string level;
  std::string fingerprint;
  std::string places;
  std::string file;
  std::int64_t offset = 0;
  std::vector<std::string> lanes;
  bool used = false;
};

std::uint32_t number_of(const llvm::json::Object& object, const char* key) {
  return static_cast<std::uint32_t>(object.getInteger(key).value_or(0));
}

std::set<std::string> names_in(const llvm::json::Array* list) {
  std::set<std::string> names;
  if (list != nullptr) {
    for (const llvm::json::Value& name : *list) {
      names.insert(name.getAsString().value_or("").str());
    }
  }
  return names;
}

std::vector<Entry> read_sidecar(const std::string& path, FileResults& out) {
  std::vector<Entry> entries;
  std::string text;
  if (!read_file(path, text)) {
    return entries;
  }
  llvm::StringRef rest = text;
  while (!rest.empty()) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    llvm::Expected<llvm::json::Value> json = llvm::json::parse(line);
    if (!json) {
      llvm::consumeError(json.takeError());  // the last line of a worker that was killed
      continue;
    }
    const llvm::json::Object* object = json->getAsObject();
    if (object == nullptr) {
      continue;
    }
    if (const llvm::json::Object* finding = object->getObject("finding")) {
      Entry one{text_of(*finding, "check"),
                text_of(*finding, "message"),
                text_of(*finding, "function"),
                text_of(*finding, "level"),
                text_of(*finding, "fingerprint"),
                text_of(*finding, "places"),
                text_of(*finding, "file"),
                finding->getInteger("offset").value_or(-1),
                {},
                false};
      if (const llvm::json::Array* lanes = finding->getArray("lanes")) {
        for (const llvm::json::Value& lane : *lanes) {
          one.lanes.push_back(lane.getAsString().value_or("").str());
        }
      }
      entries.push_back(std::move(one));
    } else if (const llvm::json::Object* skipped = object->getObject("skipped")) {
      out.skipped.push_back({text_of(*skipped, "function"), text_of(*skipped, "file"), number_of(*skipped, "line"),
                             text_of(*skipped, "reason")});
    } else if (const llvm::json::Object* known = object->getObject("known")) {
      out.known_fingerprints.push_back(text_of(*known, "fingerprint"));
    } else if (const llvm::json::Object* hidden = object->getObject("hidden")) {
      out.hidden.emplace_back(text_of(*hidden, "check"), text_of(*hidden, "fingerprint"));
    } else if (const auto usr = object->getString("not_followed")) {
      out.not_followed.push_back(usr->str());
    } else if (const llvm::json::Object* summaries = object->getObject("summaries")) {
      // A source may be compiled in several ways.
      out.summaries_written.insert(text_of(*summaries, "written"));
      out.summaries_read.merge(names_in(summaries->getArray("read")));
    } else if (const auto error = object->getString("error")) {
      out.errors.push_back(error->str());
    } else if (const llvm::json::Object* counts = object->getObject("counts")) {
      out.analysed = true;
      out.functions_analyzed += number_of(*counts, "functions_analyzed");
    } else if (const auto dump = object->getString("dump")) {
      out.dump += dump->str();
    }
  }
  return entries;
}

Entry* find_entry(std::vector<Entry>& entries, const Diagnostic& diagnostic) {
  Entry* best = nullptr;
  for (Entry& one : entries) {
    if (one.used || one.check != diagnostic.DiagnosticName || one.offset != diagnostic.Message.FileOffset ||
        absolute_path(one.file, diagnostic.BuildDirectory) !=
            absolute_path(diagnostic.Message.FilePath, diagnostic.BuildDirectory)) {
      continue;
    }
    if (one.message == diagnostic.Message.Message) {
      return &one;
    }
    best = best == nullptr ? &one : best;
  }
  return best;
}

Remark remark(const DiagnosticMessage& message, const std::string& directory, SourceLines& lines) {
  Remark result;
  result.message = message.Message;
  result.place.file = absolute_path(message.FilePath, directory);
  if (!message.FilePath.empty()) {
    result.place.offset = message.FileOffset;
    lines.complete(result.place);
  }
  return result;
}

std::string position(const Place& place) {
  return place.line == 0 ? std::string{}
                         : place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
}

/// What LLVM says as it ends a program whose output has failed, and nothing else does: the exit code is that of a
/// worker with findings.
constexpr std::string_view kOutputFailed = "IO failure on output stream: ";

/// Why the file does not count as analysed; empty: it does.
std::string problem_of(const FileResults& results, const std::string& stderr_text, int status) {
  if (status == -1) {
    return "no process could be started for it";
  }
  if (const std::size_t failed = stderr_text.find(kOutputFailed); failed != std::string::npos) {
    const std::size_t reason = failed + kOutputFailed.size();
    return "what was found could not be written: " +
           stderr_text.substr(reason, stderr_text.find('\n', reason) - reason);
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const std::string name = "signal " + std::to_string(signal) + ", " + ::strsignal(signal);
    const char* what = signal == SIGKILL   ? "was killed, as for want of memory"
                       : signal == SIGXCPU ? "took more time than it may"
                                           : "crashed";
    return std::string("the analysis ") + what + " (" + name + ")";
  }
  if (!results.compile_errors.empty()) {
    const Remark& first = results.compile_errors.front();
    const std::size_t more = results.compile_errors.size() - 1;
    return position(first.place) + first.message +
           (more == 0 ? "" : " (and " + std::to_string(more) + (more == 1 ? " more error)" : " more errors)"));
  }
  if (!results.errors.empty()) {
    return results.errors.front();
  }
  if (!results.analysed) {
    const std::size_t end = stderr_text.find_last_not_of(" \r\n");
    const std::size_t begin = end == std::string::npos ? end : stderr_text.rfind('\n', end);
    const std::string last = end == std::string::npos ? "" : stderr_text.substr(begin + 1, end - begin);
    return "the checks did not run (exit code " + std::to_string(WEXITSTATUS(status)) + ")" +
           (last.empty() ? "" : ": " + last);
  }
  return {};
}

}  // namespace

bool Result::counts() const {
  const Check* own = find_check(check);
  return as_error || (own != nullptr && group(*own) == Group::Correctness);
}

void SourceLines::complete(Place& place) {
  const auto [entry, is_new] = texts_.try_emplace(place.file);
  if (is_new) {
    read_file(place.file, entry->second);
  }
  const std::string& text = entry->second;
  if (place.offset > text.size()) {
    return;
  }
  const auto begin = text.begin();
  const auto here = begin + place.offset;
  place.line = static_cast<std::uint32_t>(std::count(begin, here, '\n')) + 1;
  const std::size_t newline = place.offset == 0 ? std::string::npos : text.rfind('\n', place.offset - 1);
  const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
  place.column = static_cast<std::uint32_t>(place.offset - start) + 1;
  place.character = static_cast<std::uint32_t>(std::count_if(begin + static_cast<std::ptrdiff_t>(start), here,
                                                             [](char c) { return (c & 0xC0) != 0x80; })) +
                    1;
}

FileResults read_results(const std::string& file, const std::string& export_fixes, const std::string& sidecar,
                         const std::string& stderr_text, int status, const std::string& warnings_as_errors,
                         SourceLines& lines) {
  FileResults out;
  out.file = file;
  std::vector<Entry> entries = read_sidecar(sidecar, out);
  clang::tooling::TranslationUnitDiagnostics exported;
  if (std::string text; read_file(export_fixes, text) && !text.empty()) {
    text = utf8(text);
    llvm::yaml::Input input(text, nullptr, [](const llvm::SMDiagnostic&, void*) {});
    input >> exported;
    if (input.error()) {
      out.errors.push_back("what was found cannot be read back");
    }
  }
  for (Diagnostic& diagnostic : exported.Diagnostics) {
    Remark site = remark(diagnostic.Message, diagnostic.BuildDirectory, lines);
    // Errors that can be switched off have names of their own: a narrowing conversion.
    if (diagnostic.DiagnosticName == kCompileError ||
        (diagnostic.DiagLevel == Diagnostic::Error &&
         llvm::StringRef(diagnostic.DiagnosticName).starts_with(kCompilerPrefix))) {
      out.compile_errors.push_back(std::move(site));
      continue;
    }
    if (diagnostic.DiagnosticName == "clang-tidy-config") {
      if (diagnostic.DiagLevel != Diagnostic::Error) {
        out.errors.push_back(site.message);
      }
      continue;
    }
    Result result;
    result.check = diagnostic.DiagnosticName;
    result.site = std::move(site);
    for (const DiagnosticMessage& note : diagnostic.Notes) {
      result.notes.push_back(remark(note, diagnostic.BuildDirectory, lines));
    }
    if (Entry* one = find_entry(entries, diagnostic)) {
      one->used = true;
      result.level = report::find<Level>(one->level);
      result.function = one->function;
      result.fingerprint = one->fingerprint;
      result.places = one->places;
      for (std::size_t i = 0; i < one->lanes.size() && i <= result.notes.size(); ++i) {
        (i == 0 ? result.site : result.notes[i - 1]).lane = one->lanes[i];
      }
    }
    result.as_error = globs_contain(warnings_as_errors, result.check);
    result.diagnostic = std::move(diagnostic);
    out.results.push_back(std::move(result));
  }
  out.problem = problem_of(out, stderr_text, status);
  return out;
}

}  // namespace streamsan::analyzer
