// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hints.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "judge/explain.h"
#include "judge/frames.h"
#include "judge/hints_copies.h"
#include "judge/hints_events.h"
#include "judge/hints_legacy.h"
#include "judge/hints_lives.h"
#include "judge/hints_overlap.h"
#include "judge/hints_pieces.h"
#include "report/text.h"

namespace streamsan::judge {
namespace {

/// One decimal where it says something.
std::string scaled(double value, const char* unit) {
  std::array<char, 32> out{};
  const auto tenths = std::llround(value * 10);
  const bool whole = value >= 100 || tenths % 10 == 0;
  std::snprintf(out.data(), out.size(), whole ? "%.0f %s" : "%.1f %s", value, unit);
  return out.data();
}

}  // namespace

ordering::SiteId site_of(const Seen& seen) {
  const trace::Record& record = seen.record();
  const bool launch = record.kind == trace::Kind::Launch;
  return seen.judge.site_of(record,
                            launch ? seen.judge.places().kernel_index(record.as<trace::Kind::Launch>().function) : 0);
}

std::string action_of(SiteReader& sites, ordering::SiteId site) {
  const api::EffectKind kind = sites.places().row(site).effect.kind;
  return sites.what(site, kind == api::EffectKind::Launch || kind == api::EffectKind::LaunchConfig);
}

std::string bytes_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return report::counted(bytes, "byte");
  if (bytes < std::uint64_t{1} << 20) return scaled(value / 1024, "KiB");
  if (bytes < std::uint64_t{1} << 30) return scaled(value / (1 << 20), "MiB");
  return scaled(value / (1 << 30), "GiB");
}

bool waits(const trace::Record& record) {
  switch (record.kind) {
    case trace::Kind::SyncStream:
    case trace::Kind::SyncEvent:
    case trace::Kind::SyncContext:
    case trace::Kind::QueryStream:
    case trace::Kind::QueryEvent:
      return true;
    case trace::Kind::Copy:
    case trace::Kind::Fill:
      return (record.flags & trace::kAsyncForm) == 0;
    default:
      return false;
  }
}

std::string time_text(std::uint64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  if (nanoseconds < 1'000'000) return scaled(std::trunc(value / 1e3), "us");
  if (nanoseconds < 1'000'000'000) return scaled(value / 1e6, "ms");
  return scaled(value / 1e9, "s");
}

void BlockedCalls::began(const trace::Item& item, std::uint32_t owner) {
  calls_[item.record->thread] = {item.position + 1, owner};
}

std::optional<BlockedCalls::Ended> BlockedCalls::ended(const trace::Item& item) {
  const trace::Record& record = *item.record;
  Call* call = calls_.find(record.thread);
  const auto& w = record.as<trace::Kind::CallEnd>();
  if (!call || call->position != w.position + 1) return std::nullopt;
  call->position = 0;
  if (item.cancelled || w.made == 0 || w.returned < w.made) return std::nullopt;
  return Ended{call->owner, w.returned - w.made};
}

Hints::Hints(Judge& judge, bool knows_event_times) : judge_(judge) {
  of_order_.push_back(std::make_unique<LegacyHints>());
  of_order_.push_back(std::make_unique<OverlapHints>());
  sources_.push_back(std::make_unique<CopyHints>());
  sources_.push_back(std::make_unique<LifeHints>());
  sources_.push_back(std::make_unique<PieceHints>());
  if (knows_event_times) events_ = std::make_unique<EventHints>();
}

Hints::~Hints() = default;

void Hints::observe(const trace::Item& item, ordering::OpId first, ordering::OpId last) {
  const Seen seen{.item = item, .first = first, .last = last, .kernels = kernels_, .judge = judge_};
  for (const auto& source : sources_) source->observe(seen);
  for (const auto& source : of_order_) source->observe(seen);
  if (events_) events_->observe(seen);
  if (seen.made_operation() && is_kernel(item.record->kind)) ++kernels_;
}

Hinted Hints::explain(Symbolizer& symbolizer, bool whole_run) {
  std::vector<HintSource*> asked;
  for (const auto& source : sources_) asked.push_back(source.get());
  if (judge_.hidden_order().empty()) {
    for (const auto& source : of_order_) asked.push_back(source.get());
  }
  if (events_ && whole_run) asked.push_back(events_.get());
  SiteReader sites(judge_.places(), symbolizer);
  for (const HintSource* source : asked) source->want(sites);
  std::vector<HintText> texts;
  for (const HintSource* source : asked) source->tell(sites, texts);
  std::stable_sort(texts.begin(), texts.end(),
                   [](const HintText& a, const HintText& b) { return a.microseconds > b.microseconds; });

  std::set<ordering::SiteId> reported;
  for (const HintText& text : texts) {
    if (text.unless_reported.empty()) reported.insert(text.where.front().site);
  }
  std::erase_if(texts, [&reported](const HintText& text) {
    return std::any_of(text.unless_reported.begin(), text.unless_reported.end(),
                       [&reported](ordering::SiteId site) { return reported.contains(site); });
  });

  std::map<std::string, std::uint64_t> folded;
  FoldedFindings out;
  for (const HintText& text : texts) {
    if (std::string library = calling_library(sites.stack(text.where.front().site)); !library.empty()) {
      ++folded[std::string(name(text.hazard)) + " in " + library];
      continue;
    }
    report::Finding finding;
    finding.kind = report::Kind::Hint;
    finding.severity = report::Severity::Note;
    finding.hazard = text.hazard;
    finding.cause = report::Word<report::Cause>::of(name(text.hazard));
    finding.message = text.message;
    finding.explanation = text.evidence;
    finding.fix = text.fix;
    Fingerprint print;
    print.add(name(text.hazard));
    for (const Shown& shown : text.where) {
      print.add(sites.function(shown.site));
      sites.add_to(print, shown.site);
      finding.related.push_back({.what = action_of(sites, shown.site),
                                 .api = sites.function(shown.site),
                                 .stream = shown.stream ? stream_report(*shown.stream) : report::Stream{},
                                 .op = static_cast<std::uint64_t>(shown.op),
                                 .stack = sites.stack(shown.site)});
    }
    finding.fingerprint = print.text();
    out.add(std::move(finding));
  }
  Hinted hinted{.findings = out.take(), .in_libraries = {}};
  for (const auto& [what, places] : folded) {
    hinted.in_libraries += (hinted.in_libraries.empty() ? "hints about calls inside libraries: " : ", ");
    hinted.in_libraries += what + " (" + report::counted(places, "place") + ")";
  }
  return hinted;
}

}  // namespace streamsan::judge
