// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/sarif.h"

#include <algorithm>

#include "report/common/sarif_log.h"
#include "report/fingerprint.h"
#include "report/printable.h"
#include "report/rules.h"
#include "report/short_name.h"
#include "report/text.h"

namespace streamsan::report {
namespace {

namespace log = sarif_log;

SarifLevel sarif_level(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return SarifLevel::Error;
    case Severity::Latent:
      return SarifLevel::Warning;
    case Severity::Possible:
    case Severity::Note:
      return SarifLevel::Note;
  }
  return SarifLevel::Note;
}

std::string shown_name(const Frame& frame) {
  return frame.function.empty() ? std::string(base_name(frame.module)) + "+" + hex(frame.offset)
                                : one_line(short_name(frame.function)) + (frame.forward ? ", forward operation" : "");
}

/// One call stack of a finding, and what was called there.
struct Side {
  std::string title;
  std::string lane;
  const std::vector<Frame>* stack = nullptr;
};

std::string access_title(const AccessReport& access) { return std::string(name(access.verb)) + " by " + access.what; }

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

class Collector {
 public:
  explicit Collector(const SourceRoot& root) : root_(root) {}

  log::Result result(const Folded& fold);
  /// Rules in the order of their numbers.
  std::vector<log::Rule> rules();

 private:
  [[nodiscard]] std::vector<log::Location> related(const Finding& finding, const std::vector<Side>& sides) const;
  std::size_t rule_index(const Finding& finding);

  const SourceRoot& root_;
  std::vector<Finding> odd_;  ///< one finding for each rule that is not in the table
};

/// Where it is in the sources, or, with line 1, in which module.
log::Place place(const Frame& frame) {
  const bool known = !frame.file.empty() && frame.line != 0;
  return {frame.file.empty() ? frame.module : frame.file,
          {.line = known ? frame.line : 1, .column = known ? frame.column : 0}};
}

std::vector<log::Lane> lanes(const std::vector<Side>& sides) {
  std::vector<log::Lane> out;
  std::size_t order = 0;
  // The later access comes first in a finding.
  for (auto side = sides.rbegin(); side != sides.rend(); ++side) {
    std::vector<const Frame*> shown;
    for (const Frame& frame : *side->stack) {
      if (!frame.library && !frame.file.empty()) shown.push_back(&frame);
    }
    if (shown.empty()) continue;
    const std::string number = std::to_string(out.size() + 1);
    log::Lane& lane = out.emplace_back();
    lane.id = side->lane.empty() ? number : number + ": " + side->lane;
    lane.message = side->title + (side->lane.empty() ? "" : " on " + side->lane);
    for (std::size_t depth = 0; depth < shown.size(); ++depth) {
      const Frame& frame = *shown[shown.size() - 1 - depth];
      const bool innermost = depth + 1 == shown.size();
      lane.steps.push_back(
          {.location = {.place = place(frame), .message = shown_name(frame) + (innermost ? ": " + side->title : "")},
           .nesting = depth,
           .order = ++order});
    }
  }
  return out;
}

std::vector<log::Stack> stacks(const std::vector<Side>& sides) {
  std::vector<log::Stack> out;
  for (const Side& side : sides) {
    if (side.stack->empty()) continue;
    out.push_back({side.title, {}});
    bool forward = false;
    for (const Frame& frame : *side.stack) {
      if (frame.forward && !forward) out.push_back({"Where the forward operation was called: " + side.title, {}});
      forward = frame.forward;
      log::Location& location = out.back().frames.emplace_back();
      location.function = shown_name(frame);
      if (!frame.file.empty()) location.place = place(frame);
      location.module = base_name(frame.module);
    }
  }
  return out;
}

std::vector<log::Location> Collector::related(const Finding& finding, const std::vector<Side>& sides) const {
  std::vector<log::Location> out;
  auto add = [&](const std::vector<Frame>& stack, const std::string& text) {
    const Frame* frame = frame_to_show(stack, root_);
    if (frame) out.push_back({.place = place(*frame), .message = one_line(text)});
  };
  for (std::size_t i = 1; i < sides.size(); ++i) {
    add(*sides[i].stack, (finding.accesses.empty() ? "" : "Previously: ") + sides[i].title);
  }
  if (!finding.accesses.empty()) {
    for (const RelatedOp& related : finding.related) add(related.stack, related.what);
  }
  if (finding.buffer) {
    const BufferReport& buffer = *finding.buffer;
    const std::string by = buffer.allocator.empty() ? "" : " by " + buffer.allocator;
    add(buffer.stack, (buffer.variable ? "The variable was looked up here" : "The memory was allocated here") + by);
  }
  if (finding.sync) {
    for (const OrderedPair& pair : finding.sync->orders) {
      add(pair.earlier.stack, "Before the call: " + access_title(pair.earlier));
      add(pair.later.stack, "After the call: " + access_title(pair.later));
    }
  }
  return out;
}

log::Rule rule(const Rule& known, SarifLevel level) {
  const std::string page(known.page);
  const std::string help(known.help);
  return {.id = std::string(known.id),
          .name = std::string(known.id),
          .summary = std::string(known.summary),
          .description = help,
          .help = help + " See " + page + " of StreamSan.",
          .help_markdown = help + " See `" + page + "` of StreamSan.",
          .level = level,
          .properties = {{"kind", name(known.kind)}, {"page", page}, {"tags", {"cuda", "concurrency"}}}};
}

SarifLevel usual_level(Kind kind) {
  switch (kind) {
    case Kind::Race:
    case Kind::HostRace:
    case Kind::PrematureFree:
    case Kind::HiddenSync:
      return SarifLevel::Error;
    case Kind::EventMisuse:
      return SarifLevel::Warning;
    case Kind::UnneededSync:
    case Kind::Hint:
      break;
  }
  return SarifLevel::Note;
}

std::vector<log::Rule> Collector::rules() {
  std::vector<log::Rule> out;
  for (const Rule& known : report::rules()) out.push_back(rule(known, usual_level(known.kind)));
  for (const Finding& finding : odd_) {
    const bool hint = finding.kind == Kind::Hint;
    const std::string id = utf8(rule_id(finding));
    const std::string summary = utf8(finding.hazard.empty() ? name(finding.kind) : finding.hazard.text());
    out.push_back(rule({.kind = finding.kind,
                        .hazard = {},
                        .id = id,
                        .summary = summary,
                        .help = hint ? "Something that costs time." : "A fault of order.",
                        .page = hint ? "docs/hints.md" : "docs/reports.md"},
                       hint ? SarifLevel::Note : SarifLevel::Warning));
  }
  return out;
}

std::size_t Collector::rule_index(const Finding& finding) {
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

log::Json properties(const Folded& fold) {
  const Finding& finding = *fold.worst;
  log::Json out{{"severity", name(finding.severity)},
                {"kind", name(finding.kind)},
                {"hazard", utf8(finding.hazard.text())},
                {"cause", utf8(finding.cause.text())},
                {"pids", fold.pids}};
  if (!finding.rule.empty()) out["rule"] = utf8(finding.rule);
  if (!finding.group.empty()) out["group"] = utf8(finding.group);
  if (finding.sync) {
    out["verdict"] = name(finding.sync->verdict);
    out["calls"] = finding.sync->calls;
    if (finding.sync->blocked_ms) out["blockedMs"] = *finding.sync->blocked_ms;
    if (finding.sync->gpu_idle_ms) out["gpuIdleMs"] = *finding.sync->gpu_idle_ms;
    if (finding.sync->overlap_ms) out["overlapMs"] = *finding.sync->overlap_ms;
  }
  return out;
}

/// The frame that the result points at; nullptr: there is none.
const Frame* frame_of(const std::vector<Side>& sides, const SourceRoot& root) {
  const Frame* found = nullptr;
  for (const Side& side : sides) {
    if (!found) found = frame_to_show(*side.stack, root);
  }
  for (const Side& side : sides) {
    for (const Frame& frame : *side.stack) {
      if (!found && !frame.library && !frame.module.empty()) found = &frame;
    }
  }
  return found;
}

log::Result Collector::result(const Folded& fold) {
  const Finding& finding = *fold.worst;
  const std::vector<Side> sides = sides_of(finding);
  const Frame* frame = frame_of(sides, root_);
  log::Result out;
  out.rule_id = rule_id(finding);
  out.rule_index = rule_index(finding);
  out.level = sarif_level(finding.severity);
  out.message = explained(finding);
  out.location.place = frame ? place(*frame) : log::Place{root_.path(), {.line = 1}};
  if (frame) out.location.function = shown_name(*frame);
  out.related = related(finding, sides);
  out.lanes = lanes(sides);
  out.stacks = stacks(sides);
  out.fingerprints = {{"streamsan/v1", lasting_fingerprint(finding)}};
  if (!finding.fingerprint.empty()) out.fingerprints.emplace_back("streamsanBuild/v1", finding.fingerprint);
  out.occurrences = std::max<std::uint64_t>(1, fold.count);
  out.suppressed = fold.suppressed();
  out.properties = properties(fold);
  return out;
}

}  // namespace

std::string sarif(const Results& results, const FormatContext& context) {
  std::vector<const Finding*> listed;
  for (const Finding& finding : results.findings) {
    if (is_listed(finding, context.least)) listed.push_back(&finding);
  }
  Collector collector(context.root);
  log::Run run{.tool = "streamsan", .version = STREAMSAN_VERSION};
  for (const Folded& fold : folded(listed)) run.results.push_back(collector.result(fold));
  run.rules = collector.rules();
  run.successful = results.summary.whole;
  run.exit_code = context.exit_code;
  for (const std::string& warning : results.summary.warnings) {
    run.notifications.push_back({.level = SarifLevel::Warning, .message = one_line(warning), .place = {}});
  }
  const log::Root root{context.root.path(), [&](const std::string& file) { return context.root.relative(file); }};
  return log::text(run, root, log::KeyOrder::OfStandard);
}

}  // namespace streamsan::report
