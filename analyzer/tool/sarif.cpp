// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From results to the run of a SARIF log (report/common/sarif_log.h) and to annotations. Each note and the warning
// itself stand in the flow of their lane, in source order.
#include "analyzer/tool/sarif.h"

#include <algorithm>
#include <set>

#include "analyzer/tool/check_selection.h"
#include "analyzer/tool/files.h"
#include "report/common/annotation.h"
#include "report/common/sarif_log.h"

namespace streamsan::analyzer {
namespace {

namespace log = report::sarif_log;
using report::AnnotationLevel;
using report::SarifLevel;

log::Place place(const Place& where) {
  return {where.file, {.line = where.line, .column = where.line == 0 ? 0 : where.character}};
}

log::Location location(const Remark& remark) {
  return {.place = place(remark.place), .function = {}, .message = remark.message, .module = {}};
}

std::vector<log::Rule> rules() {
  std::vector<log::Rule> all;
  for (const Check check : kChecks) {
    const std::string page = std::string("docs/checks/") + id(check) + ".md";
    const std::string text = summary(check);
    const SarifLevel level = group(check) == Group::Correctness   ? SarifLevel::Error
                             : group(check) == Group::Performance ? SarifLevel::Note
                                                                  : SarifLevel::Warning;
    all.push_back({.id = full_name(check),
                   .name = id(check),
                   .summary = text,
                   .description = text,
                   .help = text + ". See " + page + " of StreamSan.",
                   .help_markdown = text + ". See [" + page + "](" + page + ").",
                   .level = level,
                   .enabled = group(check) == Group::Correctness,
                   .properties = {{"group", name(group(check))}, {"page", page}, {"tags", {"cuda", "concurrency"}}}});
  }
  return all;
}

SarifLevel level_of(const Result& result) {
  const Check* check = find_check(result.check);
  const bool certain = result.level == Level::Definite;
  if (result.as_error || (check != nullptr && group(*check) == Group::Correctness && certain)) {
    return SarifLevel::Error;
  }
  return check != nullptr && group(*check) == Group::Performance ? SarifLevel::Note : SarifLevel::Warning;
}

std::vector<log::Lane> lanes(const Result& result) {
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
  std::vector<log::Lane> all;
  for (std::size_t order = 0; order < steps.size(); ++order) {
    const std::string& id = steps[order]->lane;
    auto lane = std::ranges::find(all, id, &log::Lane::id);
    if (lane == all.end()) {
      lane = all.insert(all.end(), {id, id == kHostLane ? "the host" : "stream " + id, {}});
    }
    lane->steps.push_back({.location = location(*steps[order]), .nesting = {}, .order = order + 1});
  }
  return all;
}

std::vector<log::Fix> fixes(const Result& result, SourceLines& lines) {
  log::Fix fix{"the repair that --fix makes", {}};
  for (const auto& file : result.diagnostic.Message.Fix) {
    log::Change change;
    for (const clang::tooling::Replacement& replacement : file.second) {
      change.file = replacement.getFilePath().str();
      Place begin{change.file, replacement.getOffset()};
      Place end{change.file, replacement.getOffset() + replacement.getLength()};
      lines.complete(begin);
      lines.complete(end);
      change.replacements.push_back(
          {{begin.line, begin.character, end.line, end.character}, replacement.getReplacementText().str()});
    }
    if (!change.replacements.empty()) {
      fix.changes.push_back(std::move(change));
    }
  }
  return fix.changes.empty() ? std::vector<log::Fix>{} : std::vector<log::Fix>{std::move(fix)};
}

log::Result printed(const Result& result, SourceLines& lines, bool compared) {
  log::Result out;
  out.rule_id = result.check;
  if (const Check* check = find_check(result.check)) {
    out.rule_index = static_cast<std::size_t>(*check);
  }
  out.level = level_of(result);
  out.message = result.site.message;
  out.location.place = place(result.site.place);
  out.location.function = result.function;
  for (const Remark& note : result.notes) {
    if (!note.place.file.empty()) {
      out.related.push_back(location(note));
    }
  }
  if (!result.site.lane.empty()) {
    out.lanes = lanes(result);
  }
  if (!result.fingerprint.empty()) {
    out.fingerprints = {{"streamsan/v1", result.fingerprint}};
  }
  if (result.level) {
    out.properties = {{"level", name(*result.level)}};
  }
  out.fixes = fixes(result, lines);
  if (compared) {
    out.baseline = result.known ? report::BaselineState::Unchanged : report::BaselineState::New;
  }
  return out;
}

}  // namespace

std::string print_sarif(const std::vector<FileResults>& files, bool compared) {
  const std::string root = repository_root(files.empty() ? "" : files.front().file);
  log::Run run{.tool = "streamsan-tidy", .version = STREAMSAN_VERSION, .rules = rules()};
  SourceLines lines;
  std::set<std::string> artifacts;
  for (const FileResults& file : files) {
    artifacts.insert(file.file);
    if (!file.problem.empty()) {
      run.notifications.push_back({SarifLevel::Error, "not analysed: " + file.problem, log::Place{file.file, {}}});
    }
    for (const Unanalysed& skipped : file.skipped) {
      run.notifications.push_back({SarifLevel::Note,
                                   "function " + skipped.function + " not analysed: " + skipped.reason,
                                   log::Place{file.file, {}}});
    }
    for (const Result& result : file.results) {
      if (!result.repeated) {
        artifacts.insert(result.site.place.file);
        run.results.push_back(printed(result, lines, compared));
      }
    }
  }
  run.artifacts.emplace(artifacts.begin(), artifacts.end());
  run.successful = std::ranges::all_of(files, [](const FileResults& file) { return file.problem.empty(); });
  const auto relative = [&root](const std::string& file) -> std::optional<std::string> {
    std::string below = relative_to(file, root);
    return below == file ? std::nullopt : std::optional(std::move(below));
  };
  return log::text(run, {root, relative}, log::KeyOrder::ByAlphabet);
}

std::string print_github(const std::vector<FileResults>& files) {
  std::string text;
  for (const FileResults& file : files) {
    const std::string root = repository_root(file.file);
    if (!file.problem.empty()) {
      text += report::text({.level = AnnotationLevel::Error,
                            .file = relative_to(file.file, root),
                            .title = "streamsan-tidy",
                            .body = "not analysed: " + file.problem});
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
      text += report::text({.level = result.counts() ? AnnotationLevel::Error : AnnotationLevel::Warning,
                            .file = relative_to(place.file, root),
                            .line = place.line,
                            .column = place.column,
                            .title = result.check,
                            .body = std::move(body)});
    }
  }
  return text;
}

}  // namespace streamsan::analyzer
