// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The baseline file: {"version": 1, "fingerprints": [...], "findings": [{...}]}. Sorted, so that version control shows
// what changed.
#include "analyzer/tool/baseline.h"

#include <algorithm>
#include <map>

#include "analyzer/tidy/json_text.h"
#include "analyzer/tool/files.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace streamsan::analyzer {
Baseline Baseline::read(const std::string& path, std::string& error) {
  Baseline baseline;
  std::string text;
  if (!read_file(path, text)) {
    error = "baseline " + path + " cannot be read (--write-baseline makes one)";
    return baseline;
  }
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json) {
    error = "baseline " + path + " is no JSON: " + llvm::toString(json.takeError());
    return baseline;
  }
  const llvm::json::Object* object = json->getAsObject();
  const llvm::json::Array* fingerprints = object == nullptr ? nullptr : object->getArray("fingerprints");
  if (fingerprints == nullptr || object->getInteger("version").value_or(0) != 1) {
    error = "baseline " + path + " is no baseline of version 1";
    return baseline;
  }
  for (const llvm::json::Value& value : *fingerprints) {
    const auto fingerprint = value.getAsString();
    if (!fingerprint || fingerprint->empty()) {
      error = "baseline " + path + " has a fingerprint that is none";
      return baseline;
    }
    baseline.fingerprints_.insert(fingerprint->str());
  }
  if (const llvm::json::Array* findings = object->getArray("findings")) {
    for (const llvm::json::Value& value : *findings) {
      if (const llvm::json::Object* finding = value.getAsObject()) {
        baseline.entries_.push_back({text_of(*finding, "fingerprint"), text_of(*finding, "check"),
                                     text_of(*finding, "file"), text_of(*finding, "function"),
                                     text_of(*finding, "message")});
      }
    }
  }
  return baseline;
}

std::error_code Baseline::write(const std::string& path, const std::vector<FileResults>& files) {
  std::map<std::string, Entry> entries;
  for (const FileResults& file : files) {
    for (const std::string& fingerprint : file.known_fingerprints) {
      entries.try_emplace(fingerprint, Entry{fingerprint, "", "", "", ""});
    }
    for (const Result& result : file.results) {
      if (!result.fingerprint.empty()) {
        const std::string& where = result.site.place.file;
        entries[result.fingerprint] = {result.fingerprint, result.check, relative_to(where, repository_root(where)),
                                       result.function, result.site.message};
      }
    }
  }
  llvm::json::Array fingerprints;
  llvm::json::Array findings;
  for (const auto& [fingerprint, entry] : entries) {
    fingerprints.push_back(fingerprint);
    if (!entry.check.empty()) {
      findings.push_back(llvm::json::Object{{"fingerprint", fingerprint},
                                            {"check", entry.check},
                                            {"file", utf8(entry.file)},
                                            {"function", utf8(entry.function)},
                                            {"message", utf8(entry.message)}});
    }
  }
  const llvm::json::Value value =
      llvm::json::Object{{"version", 1}, {"fingerprints", std::move(fingerprints)}, {"findings", std::move(findings)}};
  return write_file(path, llvm::formatv("{0:2}\n", value).str());
}

std::size_t Baseline::fixed(const std::vector<FileResults>& files) const {
  std::set<std::string> seen;
  std::set<std::string> looked_at;
  for (const FileResults& file : files) {
    if (file.problem.empty()) {
      looked_at.insert(relative_to(file.file, repository_root(file.file)));
    }
    for (const Result& result : file.results) {
      seen.insert(result.fingerprint);
    }
    seen.insert(file.known_fingerprints.begin(), file.known_fingerprints.end());
    for (const auto& [check, fingerprint] : file.hidden) seen.insert(fingerprint);
  }
  return static_cast<std::size_t>(std::ranges::count_if(entries_, [&](const Entry& entry) {
    return !seen.contains(entry.fingerprint) && looked_at.contains(entry.file);
  }));
}

}  // namespace streamsan::analyzer
