// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collecting replacements of several translation units; see repairs.h.
//
// Two repairs that put different text at one place, or change overlapping text, are in conflict even if some order of
// them would be right: the second run of --fix sees the first repair and knows.
#include "analyzer/tool/repairs.h"

#include <algorithm>

#include "analyzer/tool/files.h"
#include "clang/Tooling/DiagnosticsYaml.h"
#include "llvm/Support/YAMLTraits.h"
#include "llvm/Support/raw_ostream.h"

namespace streamsan::analyzer {
namespace {

using clang::tooling::Replacement;
using clang::tooling::Replacements;
using Changes = std::map<std::string, Replacements>;

/// Adds all replacements of one finding, or none.
bool add(Changes& changes, const llvm::StringMap<Replacements>& fix) {
  Changes tried = changes;
  for (const auto& file : fix) {
    for (const Replacement& replacement : file.second) {
      Replacements& of_file = tried[replacement.getFilePath().str()];
      bool made_already = false;
      for (const Replacement& other : of_file) {
        made_already = made_already || other == replacement;
      }
      if (made_already) {
        continue;
      }
      if (llvm::Error conflict = of_file.add(replacement)) {
        llvm::consumeError(std::move(conflict));
        return false;
      }
    }
  }
  changes = std::move(tried);
  return true;
}

/// Whether all that the fix changes has been written.
bool is_written(const llvm::StringMap<Replacements>& fix, const std::set<std::string>& written) {
  for (const auto& file : fix) {
    for (const Replacement& replacement : file.second) {
      if (!written.contains(replacement.getFilePath().str())) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

Repaired repair(const std::vector<FileResults>& files, std::filesystem::file_time_type analysed_since) {
  Repaired result;
  Changes changes;
  std::vector<const llvm::StringMap<Replacements>*> made;
  for (const FileResults& file : files) {
    for (const Result& finding : file.results) {
      const llvm::StringMap<Replacements>& fix = finding.diagnostic.Message.Fix;
      if (finding.known || finding.repeated || fix.empty()) {
        continue;
      }
      if (add(changes, fix)) {
        made.push_back(&fix);
      } else {
        ++result.in_conflict;
      }
    }
  }
  for (const auto& [file, replacements] : changes) {
    // Offsets mean nothing in a text that another run or an editor has changed meanwhile.
    std::error_code unknown;
    if (std::filesystem::last_write_time(file, unknown) >= analysed_since && !unknown) {
      result.changed.push_back(file);
      continue;
    }
    std::string text;
    if (!read_file(file, text)) {
      result.errors.push_back(file + ": it cannot be read");
      continue;
    }
    llvm::Expected<std::string> better = clang::tooling::applyAllReplacements(text, replacements);
    if (!better) {
      result.errors.push_back(file + ": " + llvm::toString(better.takeError()));
    } else if (const std::error_code failed = write_file(file, *better)) {
      result.errors.push_back(file + ": " + failed.message());
    } else {
      result.files.insert(file);
    }
  }
  result.findings = static_cast<std::size_t>(
      std::ranges::count_if(made, [&](const auto* fix) { return is_written(*fix, result.files); }));
  return result;
}

std::string print_replacements(const std::vector<FileResults>& files) {
  clang::tooling::TranslationUnitDiagnostics all;
  for (const FileResults& file : files) {
    for (const Result& finding : file.results) {
      if (!finding.known && !finding.repeated) {
        all.Diagnostics.push_back(finding.diagnostic);
      }
    }
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::yaml::Output output(stream);
  output << all;
  return text;
}

}  // namespace streamsan::analyzer
