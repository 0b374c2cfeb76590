// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SARIF 2.1.0.
//
// A stream-ordering bug is about two lanes that nothing orders, and SARIF has a word for that: a code flow with one
// thread flow for each lane. A lane here is a stream, or the host. Each note and the warning itself stand in the flow
// of their lane, in source order; a viewer shows them side by side.
//
// Paths are relative to the root of the repository (SRCROOT), lines are those of the files as they are, columns count
// characters. A page of documentation is named by its path in this project: there is no other address for it.
#include "analyzer/tool/sarif.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

#include "analyzer/tidy/json_text.h"
#include "analyzer/tool/check_selection.h"
#include "analyzer/tool/files.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace streamsan::analyzer {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

Object message(const std::string& text) { return Object{{"text", utf8(text)}}; }

std::string uri(const std::string& path) {
  std::string result;
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("-._~/", c) != nullptr;
    if (plain && c != '\0') {
      result += c;
    } else {
      result += llvm::formatv("%{0:X-2}", static_cast<unsigned char>(c)).str();
    }
  }
  return result;
}

/// Prints places relative to one root.
class Places {
 public:
  explicit Places(std::string root) : root_(std::move(root)) {}

  [[nodiscard]] Object artifact(const std::string& file) const {
    const std::string relative = relative_to(file, root_);
    Object location;
    if (relative == file) {
      location["uri"] = "file://" + uri(file);
    } else {
      location["uri"] = uri(relative);
      location["uriBaseId"] = "SRCROOT";
    }
    return location;
  }
  [[nodiscard]] Object physical(const Place& place) const {
    Object result{{"artifactLocation", artifact(place.file)}};
    if (place.line != 0) {
      result["region"] = Object{{"startLine", place.line}, {"startColumn", place.character}};
    }
    return result;
  }
  [[nodiscard]] Object location(const Remark& remark) const {
    return Object{{"physicalLocation", physical(remark.place)}, {"message", message(remark.message)}};
  }
  [[nodiscard]] Object base_ids() const { return Object{{"SRCROOT", Object{{"uri", "file://" + uri(root_) + "/"}}}}; }

 private:
  std::string root_;
};

Array rules() {
  Array all;
  for (const Check check : kChecks) {
    const std::string page = std::string("docs/checks/") + id(check) + ".md";
    const char* level = group(check) == Group::Correctness   ? "error"
                        : group(check) == Group::Performance ? "note"
                                                             : "warning";
    all.push_back(
        Object{{"id", full_name(check)},
               {"name", id(check)},
               {"shortDescription", message(summary(check))},
               {"fullDescription", message(summary(check))},
               {"help", Object{{"text", std::string(summary(check)) + ". See " + page + " of StreamSan."},
                               {"markdown", std::string(summary(check)) + ". See [" + page + "](" + page + ")."}}},
               {"defaultConfiguration", Object{{"level", level}, {"enabled", group(check) == Group::Correctness}}},
               {"properties",
                Object{{"group", group_name(group(check))}, {"page", page}, {"tags", Array{"cuda", "concurrency"}}}}});
  }
  return all;
}

std::size_t rule_index(const Check& check) { return static_cast<std::size_t>(check); }

const char* level_of(const Result& result) {
  const Check* check = find_check(result.check);
  if (result.as_error || (check != nullptr && group(*check) == Group::Correctness && result.level == "definite")) {
    return "error";
  }
  return check != nullptr && group(*check) == Group::Performance ? "note" : "warning";
}

Array code_flows(const Result& result, const Places& places) {
  std::vector<const Remark*> steps;
  for (const Remark& note : result.notes) {
    if (!note.place.file.empty() && !note.lane.empty()) {
      steps.push_back(&note);
    }
  }
  steps.push_back(&result.site);
  // The order of the program, as far as one file shows it; what stands elsewhere comes first.
  std::ranges::stable_sort(steps, {}, [&](const Remark* step) {
    return step->place.file == result.site.place.file ? step->place.offset + 1 : 0;
  });
  std::vector<std::string> lanes;
  for (const Remark* step : steps) {
    if (std::ranges::find(lanes, step->lane) == lanes.end()) {
      lanes.push_back(step->lane);
    }
  }
  Array threads;
  for (const std::string& lane : lanes) {
    Array locations;
    for (std::size_t order = 0; order < steps.size(); ++order) {
      if (steps[order]->lane == lane) {
        locations.push_back(Object{{"location", places.location(*steps[order])}, {"executionOrder", order + 1}});
      }
    }
    threads.push_back(Object{{"id", utf8(lane)},
                             {"message", message(lane == "host" ? "the host" : "stream " + lane)},
                             {"locations", std::move(locations)}});
  }
  return Array{Object{{"threadFlows", std::move(threads)}}};
}

Array fixes(const Result& result, const Places& places, SourceLines& lines) {
  Array changes;
  for (const auto& file : result.diagnostic.Message.Fix) {
    Array replacements;
    std::string path;
    for (const clang::tooling::Replacement& replacement : file.second) {
      path = replacement.getFilePath().str();
      Place begin{path, replacement.getOffset()};
      Place end{path, replacement.getOffset() + replacement.getLength()};
      lines.complete(begin);
      lines.complete(end);
      replacements.push_back(Object{{"deletedRegion", Object{{"startLine", begin.line},
                                                             {"startColumn", begin.character},
                                                             {"endLine", end.line},
                                                             {"endColumn", end.character}}},
                                    {"insertedContent", message(replacement.getReplacementText().str())}});
    }
    if (!replacements.empty()) {
      changes.push_back(Object{{"artifactLocation", places.artifact(path)}, {"replacements", std::move(replacements)}});
    }
  }
  Array all;
  if (!changes.empty()) {
    all.push_back(
        Object{{"description", message("the repair that --fix makes")}, {"artifactChanges", std::move(changes)}});
  }
  return all;
}

Object print_result(const Result& result, const Places& places, SourceLines& lines, bool compared) {
  Object location{{"physicalLocation", places.physical(result.site.place)}};
  if (!result.function.empty()) {
    location["logicalLocations"] = Array{Object{{"fullyQualifiedName", utf8(result.function)}, {"kind", "function"}}};
  }
  Array related;
  for (const Remark& note : result.notes) {
    if (!note.place.file.empty()) {
      Object one = places.location(note);
      one["id"] = related.size() + 1;
      related.push_back(std::move(one));
    }
  }
  Object object{{"ruleId", result.check},
                {"level", level_of(result)},
                {"message", message(result.site.message)},
                {"locations", Array{std::move(location)}},
                {"relatedLocations", std::move(related)}};
  if (!result.site.lane.empty()) {
    object["codeFlows"] = code_flows(result, places);
  }
  if (const Check* check = find_check(result.check)) {
    object["ruleIndex"] = rule_index(*check);
  }
  if (!result.fingerprint.empty()) {
    object["partialFingerprints"] = Object{{"streamsan/v1", result.fingerprint}};
  }
  if (!result.level.empty()) {
    object["properties"] = Object{{"level", result.level}};
  }
  if (Array all = fixes(result, places, lines); !all.empty()) {
    object["fixes"] = std::move(all);
  }
  if (compared) {
    object["baselineState"] = result.known ? "unchanged" : "new";
  }
  return object;
}

/// A percent sign and line ends would end an annotation; in its properties commas and colons, too.
std::string escaped(const std::string& text, bool property) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '%':
        result += "%25";
        break;
      case '\r':
        result += "%0D";
        break;
      case '\n':
        result += "%0A";
        break;
      case ':':
        result += property ? "%3A" : ":";
        break;
      case ',':
        result += property ? "%2C" : ",";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace

std::string print_sarif(const std::vector<FileResults>& files, bool compared) {
  const std::string root = repository_root(files.empty() ? "" : files.front().file);
  const Places places(root);
  SourceLines lines;
  Array results;
  Array notifications;
  std::set<std::string> artifacts;
  for (const FileResults& file : files) {
    artifacts.insert(file.file);
    if (!file.problem.empty()) {
      notifications.push_back(
          Object{{"level", "error"},
                 {"message", message("not analysed: " + file.problem)},
                 {"locations", Array{Object{{"physicalLocation", places.physical(Place{file.file})}}}}});
    }
    for (const Unanalysed& skipped : file.skipped) {
      notifications.push_back(
          Object{{"level", "note"},
                 {"message", message("function " + skipped.function + " not analysed: " + skipped.reason)},
                 {"locations", Array{Object{{"physicalLocation", places.physical(Place{file.file})}}}}});
    }
    for (const Result& result : file.results) {
      if (!result.repeated) {
        artifacts.insert(result.site.place.file);
        results.push_back(print_result(result, places, lines, compared));
      }
    }
  }
  Array artifact_list;
  for (const std::string& artifact : artifacts) {
    artifact_list.push_back(Object{{"location", places.artifact(artifact)}});
  }
  const bool whole = std::ranges::all_of(files, [](const FileResults& file) { return file.problem.empty(); });
  Object driver{{"name", "streamsan-tidy"}, {"version", STREAMSAN_VERSION}, {"rules", rules()}};
  Object run{{"tool", Object{{"driver", std::move(driver)}}},
             {"columnKind", "unicodeCodePoints"},
             {"originalUriBaseIds", places.base_ids()},
             {"invocations",
              Array{Object{{"executionSuccessful", whole}, {"toolExecutionNotifications", std::move(notifications)}}}},
             {"artifacts", std::move(artifact_list)},
             {"results", std::move(results)}};
  const Value log = Object{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                           {"version", "2.1.0"},
                           {"runs", Array{std::move(run)}}};
  return llvm::formatv("{0:2}\n", log).str();
}

std::string print_github(const std::vector<FileResults>& files) {
  std::string text;
  for (const FileResults& file : files) {
    const std::string root = repository_root(file.file);
    if (!file.problem.empty()) {
      text += "::error file=" + escaped(relative_to(file.file, root), true) +
              ",title=streamsan-tidy::not analysed: " + escaped(file.problem, false) + "\n";
    }
    for (const Result& result : file.results) {
      if (result.known || result.repeated) {
        continue;
      }
      const Place& place = result.site.place;
      std::string body = result.site.message;
      for (const Remark& note : result.notes) {
        body += "\n" +
                (note.place.file.empty()
                     ? ""
                     : relative_to(note.place.file, root) + ":" + std::to_string(note.place.line) + ": ") +
                note.message;
      }
      text += std::string("::") + (result.counts() ? "error" : "warning") +
              " file=" + escaped(relative_to(place.file, root), true) + ",line=" + std::to_string(place.line) +
              ",col=" + std::to_string(place.column) + ",title=" + escaped(result.check, true) +
              "::" + escaped(body, false) + "\n";
    }
  }
  return text;
}

}  // namespace streamsan::analyzer
