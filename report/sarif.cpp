// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/sarif.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>

#include "report/fingerprint.h"
#include "report/printable.h"
#include "report/rules.h"
#include "report/short_name.h"
#include "report/text.h"

namespace streamsan::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kBase = "SRCROOT";

/// "text](target)" would be a link in a message.
Json message(const std::string& text) {
  std::string out = utf8(text);
  if (out.find("](") != std::string::npos) {
    for (std::size_t at = 0; (at = out.find_first_of("[]\\", at)) != std::string::npos; at += 2) out.insert(at, "\\");
  }
  return {{"text", std::move(out)}};
}

std::string uri(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c != '\0' && (std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("-._~/", c) != nullptr)) {
      out += c;
    } else {
      constexpr const char* kDigits = "0123456789ABCDEF";
      out += {'%', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[static_cast<unsigned char>(c) & 15]};
    }
  }
  return out;
}

const char* level(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Latent:
      return "warning";
    case Severity::Possible:
    case Severity::Note:
      return "note";
  }
  return "none";
}

std::string shown_name(const Frame& frame) {
  return frame.function.empty() ? frame.module.substr(frame.module.rfind('/') + 1) + "+" + hex(frame.offset)
                                : one_line(short_name(frame.function));
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// One call stack of a finding, and what was called there.
struct Side {
  std::string title;
  std::string lane;
  const std::vector<Frame>* stack = nullptr;
};

std::string access_title(const AccessReport& access) { return access.verb + " by " + access.what; }

std::vector<Side> sides_of(const Finding& finding) {
  std::vector<Side> out;
  for (const AccessReport& access : finding.accesses) {
    out.push_back({access_title(access), access.stream.name, &access.stack});
  }
  if (out.empty() && !finding.sync) {
    for (const RelatedOp& related : finding.related) out.push_back({related.what, related.stream.name, &related.stack});
  }
  if (finding.sync) out.push_back({finding.sync->what, "the host", &finding.sync->stack});
  for (Side& side : out) {
    side.title = one_line(side.title);
    side.lane = one_line(side.lane);
  }
  return out;
}

class Printer {
 public:
  explicit Printer(const FormatContext& context) : root_(context.root) {}

  Json result(const Folded& fold);
  Json base_ids() const { return {{kBase, {{"uri", "file://" + uri(directory(root_.path()))}}}}; }
  /// Rules in the order of their numbers.
  Json rules();

 private:
  static std::string directory(const std::string& path) { return path.ends_with('/') ? path : path + "/"; }
  Json artifact(const std::string& file) const;
  Json physical(const Frame& frame) const;
  Json code_flows(const std::vector<Side>& sides) const;
  Json stacks(const std::vector<Side>& sides) const;
  Json related(const Finding& finding, const std::vector<Side>& sides) const;
  std::size_t rule_index(const Finding& finding);

  const SourceRoot& root_;
  std::vector<Finding> odd_;  ///< one finding for each rule that is not in the table
};

Json Printer::artifact(const std::string& file) const {
  if (auto relative = root_.relative(file)) return {{"uri", uri(*relative)}, {"uriBaseId", kBase}};
  return {{"uri", file.starts_with('/') ? "file://" + uri(file) : uri(file)}};
}

/// Where it is in the sources, or, with line 1, in which module.
Json Printer::physical(const Frame& frame) const {
  Json region{{"startLine", frame.file.empty() || frame.line == 0 ? 1 : frame.line}};
  if (!frame.file.empty() && frame.line != 0 && frame.column != 0) region["startColumn"] = frame.column;
  return {{"artifactLocation", artifact(frame.file.empty() ? frame.module : frame.file)}, {"region", region}};
}

Json Printer::code_flows(const std::vector<Side>& sides) const {
  Json threads = Json::array();
  std::size_t order = 0;
  // The later access comes first in a finding.
  for (auto side = sides.rbegin(); side != sides.rend(); ++side) {
    Json locations = Json::array();
    std::vector<const Frame*> shown;
    for (const Frame& frame : *side->stack) {
      if (!frame.library && !frame.file.empty()) shown.push_back(&frame);
    }
    for (std::size_t level = 0; level < shown.size(); ++level) {
      const Frame& frame = *shown[shown.size() - 1 - level];
      const bool innermost = level + 1 == shown.size();
      locations.push_back({{"location",
                            {{"physicalLocation", physical(frame)},
                             {"message", message(shown_name(frame) + (innermost ? ": " + side->title : ""))}}},
                           {"nestingLevel", level},
                           {"executionOrder", ++order}});
    }
    if (locations.empty()) continue;
    const std::string number = std::to_string(threads.size() + 1);
    threads.push_back({{"id", side->lane.empty() ? number : number + ": " + side->lane},
                       {"message", message(side->title + (side->lane.empty() ? "" : " on " + side->lane))},
                       {"locations", std::move(locations)}});
  }
  if (threads.empty()) return Json::array();
  return Json::array({{{"threadFlows", std::move(threads)}}});
}

Json Printer::stacks(const std::vector<Side>& sides) const {
  Json out = Json::array();
  for (const Side& side : sides) {
    if (side.stack->empty()) continue;
    Json frames = Json::array();
    for (const Frame& frame : *side.stack) {
      Json location{{"logicalLocations", {{{"fullyQualifiedName", shown_name(frame)}, {"kind", "function"}}}}};
      if (!frame.file.empty()) location["physicalLocation"] = physical(frame);
      Json one{{"location", std::move(location)}};
      if (!frame.module.empty()) one["module"] = utf8(base_name(frame.module));
      frames.push_back(std::move(one));
    }
    Json stack{{"message", message(side.title)}, {"frames", std::move(frames)}};
    // The standard wants no two alike; a place may race with itself.
    if (std::find(out.begin(), out.end(), stack) == out.end()) out.push_back(std::move(stack));
  }
  return out;
}

Json Printer::related(const Finding& finding, const std::vector<Side>& sides) const {
  Json out = Json::array();
  auto add = [&](const std::vector<Frame>& stack, const std::string& text) {
    if (const Frame* frame = frame_to_show(stack, root_)) {
      out.push_back(
          {{"id", out.size() + 1}, {"physicalLocation", physical(*frame)}, {"message", message(one_line(text))}});
    }
  };
  for (std::size_t i = 1; i < sides.size(); ++i) {
    add(*sides[i].stack, (finding.accesses.empty() ? "" : "Previously: ") + sides[i].title);
  }
  if (!finding.accesses.empty()) {
    for (const RelatedOp& related : finding.related) add(related.stack, related.what);
  }
  if (finding.buffer) {
    const BufferReport& buffer = *finding.buffer;
    add(buffer.stack, "The memory was allocated here" + (buffer.allocator.empty() ? "" : " by " + buffer.allocator));
  }
  if (finding.sync) {
    for (const OrderedPair& pair : finding.sync->orders) {
      add(pair.earlier.stack, "Before the call: " + access_title(pair.earlier));
      add(pair.later.stack, "After the call: " + access_title(pair.later));
    }
  }
  return out;
}

Json rule_json(const Rule& rule, const char* level) {
  const std::string page(rule.page);
  const std::string help(rule.help);
  return {
      {"id", rule.id},
      {"name", rule.id},
      {"shortDescription", {{"text", rule.summary}}},
      {"fullDescription", {{"text", help}}},
      {"help",
       {{"text", help + " See " + page + " of StreamSan."}, {"markdown", help + " See `" + page + "` of StreamSan."}}},
      {"defaultConfiguration", {{"level", level}}},
      {"properties", {{"kind", name(rule.kind)}, {"page", page}, {"tags", {"cuda", "concurrency"}}}}};
}

Json Printer::rules() {
  Json out = Json::array();
  for (const Rule& rule : report::rules()) {
    const bool grave = rule.kind == Kind::Race || rule.kind == Kind::HostRace || rule.kind == Kind::PrematureFree;
    out.push_back(rule_json(rule, grave ? "error" : rule.kind == Kind::EventMisuse ? "warning" : "note"));
  }
  for (const Finding& finding : odd_) {
    const bool hint = finding.kind == Kind::Hint;
    const std::string id = utf8(rule_id(finding));
    const std::string summary = utf8(finding.hazard.empty() ? name(finding.kind) : finding.hazard);
    out.push_back(rule_json({.kind = finding.kind,
                             .hazard = finding.hazard,
                             .id = id,
                             .summary = summary,
                             .help = hint ? "Something that costs time." : "A fault of order.",
                             .page = hint ? "docs/hints.md" : "docs/reports.md"},
                            hint ? "note" : "warning"));
  }
  return out;
}

std::size_t Printer::rule_index(const Finding& finding) {
  const std::span<const Rule> known = report::rules();
  if (const Rule* rule = rule_of(finding)) return static_cast<std::size_t>(rule - known.data());
  auto it =
      std::find_if(odd_.begin(), odd_.end(), [&](const Finding& odd) { return rule_id(odd) == rule_id(finding); });
  if (it == odd_.end()) it = odd_.insert(odd_.end(), finding);
  return known.size() + static_cast<std::size_t>(it - odd_.begin());
}

std::string explained(const Finding& finding) {
  std::string out = finding.message;
  if (!finding.explanation.empty()) {
    out += (out.empty() ? "" : "\n") + std::string(finding.rule.empty() ? "" : "Not promised: ") + finding.explanation;
  }
  if (finding.sync && !finding.sync->replacement.empty()) out += "\nInstead: " + finding.sync->replacement;
  if (!finding.fix.empty()) out += "\nFix: " + finding.fix;
  return out.empty() ? title(finding) : out;
}

Json properties(const Folded& fold) {
  const Finding& finding = *fold.worst;
  Json out{{"severity", name(finding.severity)},
           {"kind", name(finding.kind)},
           {"hazard", utf8(finding.hazard)},
           {"cause", utf8(finding.cause)},
           {"pids", fold.pids}};
  if (!finding.rule.empty()) out["rule"] = utf8(finding.rule);
  if (finding.sync) {
    out["verdict"] = utf8(finding.sync->verdict);
    out["calls"] = finding.sync->calls;
    if (finding.sync->blocked_ms) out["blockedMs"] = *finding.sync->blocked_ms;
    if (finding.sync->gpu_idle_ms) out["gpuIdleMs"] = *finding.sync->gpu_idle_ms;
    if (finding.sync->overlap_ms) out["overlapMs"] = *finding.sync->overlap_ms;
  }
  return out;
}

Json Printer::result(const Folded& fold) {
  const Finding& finding = *fold.worst;
  const std::vector<Side> sides = sides_of(finding);
  Json out{{"ruleId", utf8(rule_id(finding))},
           {"ruleIndex", rule_index(finding)},
           {"level", level(finding.severity)},
           {"message", message(explained(finding))}};

  const Frame* place = nullptr;
  for (const Side& side : sides) {
    if (!place) place = frame_to_show(*side.stack, root_);
  }
  for (const Side& side : sides) {
    for (const Frame& frame : *side.stack) {
      if (!place && !frame.library && !frame.module.empty()) place = &frame;
    }
  }
  Json location = Json::object();
  location["physicalLocation"] =
      place ? physical(*place) : Json{{"artifactLocation", artifact(root_.path())}, {"region", {{"startLine", 1}}}};
  if (place) {
    location["logicalLocations"] = Json::array({{{"fullyQualifiedName", shown_name(*place)}, {"kind", "function"}}});
  }
  out["locations"] = Json::array({std::move(location)});
  out["relatedLocations"] = related(finding, sides);
  if (Json flows = code_flows(sides); !flows.empty()) out["codeFlows"] = std::move(flows);
  if (Json all = stacks(sides); !all.empty()) out["stacks"] = std::move(all);
  out["partialFingerprints"] = {{"streamsan/v1", lasting_fingerprint(finding)}};
  if (!finding.fingerprint.empty()) out["partialFingerprints"]["streamsanBuild/v1"] = utf8(finding.fingerprint);
  out["occurrenceCount"] = std::max<std::uint64_t>(1, fold.count);
  if (fold.suppressed()) out["suppressions"] = {{{"kind", "external"}, {"status", "accepted"}}};
  out["properties"] = properties(fold);
  return out;
}

}  // namespace

std::string sarif(std::span<const Finding> findings, const Summary& summary, const FormatContext& context) {
  std::vector<const Finding*> listed;
  for (const Finding& finding : findings) {
    if (is_listed(finding, context.least)) listed.push_back(&finding);
  }
  Printer printer(context);
  Json results = Json::array();
  for (const Folded& fold : folded(listed)) results.push_back(printer.result(fold));

  Json notifications = Json::array();
  for (const std::string& warning : summary.warnings) {
    notifications.push_back({{"level", "warning"}, {"message", message(one_line(warning))}});
  }
  Json invocation{{"executionSuccessful", summary.whole},
                  {"exitCode", context.exit_code},
                  {"toolExecutionNotifications", std::move(notifications)}};
  Json driver{{"name", "streamsan"}, {"version", STREAMSAN_VERSION}, {"rules", printer.rules()}};
  Json run{{"tool", {{"driver", std::move(driver)}}},
           {"columnKind", "unicodeCodePoints"},
           {"originalUriBaseIds", printer.base_ids()},
           {"invocations", Json::array({std::move(invocation)})},
           {"results", std::move(results)}};
  Json log{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
           {"version", "2.1.0"},
           {"runs", Json::array({std::move(run)})}};
  return log.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace streamsan::report
