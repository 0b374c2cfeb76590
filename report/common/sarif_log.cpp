// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/common/sarif_log.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "report/common/utf8.h"

namespace streamsan::report::sarif_log {
namespace {

constexpr const char* kBase = "SRCROOT";

/// "text](target)" would be a link in a message.
Json message(const std::string& text) {
  std::string out = utf8(text);
  if (out.find("](") != std::string::npos) {
    for (std::size_t at = 0; (at = out.find_first_of("[]\\", at)) != std::string::npos; at += 2) out.insert(at, "\\");
  }
  return {{"text", std::move(out)}};
}

/// Text that is no message: of a rule, which is ours, or of a file.
Json plain(const std::string& text) { return {{"text", utf8(text)}}; }

Json region_json(const Region& region) {
  Json out{{"startLine", region.line}};
  if (region.column != 0) out["startColumn"] = region.column;
  if (region.end_line != 0) out["endLine"] = region.end_line;
  if (region.end_line != 0 && region.end_column != 0) out["endColumn"] = region.end_column;
  return out;
}

Json function_json(const std::string& function) {
  return Json::array({{{"fullyQualifiedName", utf8(function)}, {"kind", "function"}}});
}

class Printer {
 public:
  explicit Printer(const Root& root) : root_(root) {}

  Json log(const Run& run) const;

 private:
  [[nodiscard]] Json artifact(const std::string& file) const;
  [[nodiscard]] Json physical(const Place& place) const;
  [[nodiscard]] Json location(const Location& location, std::optional<std::size_t> id = {}) const;
  [[nodiscard]] Json frame(const Location& frame) const;
  [[nodiscard]] Json flow(const std::vector<Lane>& lanes) const;
  [[nodiscard]] Json stacks(const std::vector<Stack>& stacks) const;
  [[nodiscard]] Json fix(const Fix& fix) const;
  [[nodiscard]] Json result(const Result& result) const;
  [[nodiscard]] Json invocation(const Run& run) const;
  static Json rule(const Rule& rule);

  /// Calls print for each, into a list.
  template <typename T, typename Print>
  static Json list(const std::vector<T>& all, Print print) {
    Json out = Json::array();
    for (const T& each : all) out.push_back(print(each));
    return out;
  }

  const Root& root_;
};

Json Printer::artifact(const std::string& file) const {
  if (auto relative = root_.relative(file)) return {{"uri", uri(*relative)}, {"uriBaseId", kBase}};
  return {{"uri", file.starts_with('/') ? "file://" + uri(file) : uri(file)}};
}

Json Printer::physical(const Place& place) const {
  Json out{{"artifactLocation", artifact(place.file)}};
  if (place.region.line != 0) out["region"] = region_json(place.region);
  return out;
}

Json Printer::location(const Location& location, std::optional<std::size_t> id) const {
  Json out = Json::object();
  if (id) out["id"] = *id;
  if (location.place) out["physicalLocation"] = physical(*location.place);
  if (!location.function.empty()) out["logicalLocations"] = function_json(location.function);
  if (!location.message.empty()) out["message"] = message(location.message);
  return out;
}

Json Printer::frame(const Location& frame) const {
  Json location{{"logicalLocations", function_json(frame.function)}};
  if (frame.place) location["physicalLocation"] = physical(*frame.place);
  Json out{{"location", std::move(location)}};
  if (!frame.module.empty()) out["module"] = utf8(frame.module);
  return out;
}

Json Printer::flow(const std::vector<Lane>& lanes) const {
  Json threads = list(lanes, [this](const Lane& lane) -> Json {
    Json steps = list(lane.steps, [this](const Step& step) {
      Json out{{"location", location(step.location)}};
      if (step.nesting) out["nestingLevel"] = *step.nesting;
      out["executionOrder"] = step.order;
      return out;
    });
    return {{"id", utf8(lane.id)}, {"message", message(lane.message)}, {"locations", std::move(steps)}};
  });
  return Json::array({{{"threadFlows", std::move(threads)}}});
}

Json Printer::stacks(const std::vector<Stack>& stacks) const {
  Json out = Json::array();
  for (const Stack& each : stacks) {
    Json stack{{"message", message(each.message)},
               {"frames", list(each.frames, [this](const Location& one) { return frame(one); })}};
    // The standard wants no two alike; a place may race with itself.
    if (std::find(out.begin(), out.end(), stack) == out.end()) out.push_back(std::move(stack));
  }
  return out;
}

Json Printer::fix(const Fix& fix) const {
  Json changes = list(fix.changes, [this](const Change& change) -> Json {
    Json replacements = list(change.replacements, [](const Replacement& each) -> Json {
      return {{"deletedRegion", region_json(each.deleted)}, {"insertedContent", plain(each.inserted)}};
    });
    return {{"artifactLocation", artifact(change.file)}, {"replacements", std::move(replacements)}};
  });
  return {{"description", message(fix.description)}, {"artifactChanges", std::move(changes)}};
}

Json Printer::rule(const Rule& rule) {
  Json configuration{{"level", name(rule.level)}};
  if (rule.enabled) configuration["enabled"] = *rule.enabled;
  return {{"id", utf8(rule.id)},
          {"name", utf8(rule.name)},
          {"shortDescription", plain(rule.summary)},
          {"fullDescription", plain(rule.description)},
          {"help", {{"text", utf8(rule.help)}, {"markdown", utf8(rule.help_markdown)}}},
          {"defaultConfiguration", std::move(configuration)},
          {"properties", rule.properties}};
}

Json Printer::result(const Result& result) const {
  Json out{{"ruleId", utf8(result.rule_id)}};
  if (result.rule_index) out["ruleIndex"] = *result.rule_index;
  out["level"] = name(result.level);
  out["message"] = message(result.message);
  out["locations"] = Json::array({location(result.location)});
  Json related = Json::array();
  for (const Location& each : result.related) related.push_back(location(each, related.size() + 1));
  out["relatedLocations"] = std::move(related);
  if (!result.lanes.empty()) out["codeFlows"] = flow(result.lanes);
  if (!result.stacks.empty()) out["stacks"] = stacks(result.stacks);
  for (const auto& [method, value] : result.fingerprints) out["partialFingerprints"][method] = utf8(value);
  if (result.occurrences) out["occurrenceCount"] = *result.occurrences;
  if (result.suppressed) out["suppressions"] = {{{"kind", "external"}, {"status", "accepted"}}};
  if (!result.properties.empty()) out["properties"] = result.properties;
  if (!result.fixes.empty()) out["fixes"] = list(result.fixes, [this](const Fix& each) { return fix(each); });
  if (result.baseline) out["baselineState"] = name(*result.baseline);
  return out;
}

Json Printer::invocation(const Run& run) const {
  Json out{{"executionSuccessful", run.successful}};
  if (run.exit_code) out["exitCode"] = *run.exit_code;
  out["toolExecutionNotifications"] = list(run.notifications, [this](const Notification& each) {
    Json one{{"level", name(each.level)}, {"message", message(each.message)}};
    if (each.place) one["locations"] = Json::array({{{"physicalLocation", physical(*each.place)}}});
    return one;
  });
  return out;
}

Json Printer::log(const Run& run) const {
  Json driver{{"name", run.tool}, {"version", run.version}, {"rules", list(run.rules, rule)}};
  const std::string folder = root_.path.ends_with('/') ? root_.path : root_.path + "/";
  Json one{{"tool", {{"driver", std::move(driver)}}},
           {"columnKind", "unicodeCodePoints"},
           {"originalUriBaseIds", {{kBase, {{"uri", "file://" + uri(folder)}}}}},
           {"invocations", Json::array({invocation(run)})}};
  if (run.artifacts) {
    one["artifacts"] =
        list(*run.artifacts, [this](const std::string& file) -> Json { return {{"location", artifact(file)}}; });
  }
  one["results"] = list(run.results, [this](const Result& each) { return result(each); });
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({std::move(one)})}};
}

}  // namespace

std::string uri(std::string_view path) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (c != '\0' && (std::isalnum(byte) != 0 || std::strchr("-._~/", c) != nullptr)) {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

std::string text(const Run& run, const Root& root, KeyOrder order) {
  const Json log = Printer(root).log(run);
  const auto replace = Json::error_handler_t::replace;
  if (order == KeyOrder::OfStandard) return log.dump(2, ' ', false, replace) + "\n";
  return nlohmann::json(log).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace streamsan::report::sarif_log
