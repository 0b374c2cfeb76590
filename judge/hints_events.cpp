// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hints_events.h"

#include "judge/frames.h"
#include "report/text.h"

namespace streamsan::judge {

using trace::Kind;
using trace::Record;

EventHints::Tally* EventHints::of(std::uint64_t event) {
  const std::uint32_t* index = events_.find(event);
  return index ? &tallies_[*index - 1] : nullptr;
}

void EventHints::created(const Seen& seen) {
  const Record& record = seen.record();
  const auto& w = record.as<Kind::EventCreate>();
  events_.erase(w.handle);
  const bool by_program =
      record.api < api::kRowCount && api::kRows[record.api].effect.kind == api::EffectKind::EventCreate;
  if (!by_program || (w.creation_flags & (kEventDisableTiming | kEventInterprocess)) != 0) return;
  const ordering::SiteId site = site_of(seen);
  std::uint32_t& index = by_site_[static_cast<std::uint64_t>(site)];
  if (index == 0) {
    tallies_.emplace_back().site = site;
    index = static_cast<std::uint32_t>(tallies_.size());
  }
  ++tallies_[index - 1].created;
  events_[w.handle] = index;
}

void EventHints::observe(const Seen& seen) {
  const Record& record = seen.record();
  switch (record.kind) {
    case Kind::EventCreate:
      return created(seen);
    case Kind::EventDestroy:
      events_.erase(record.as<Kind::EventCreate>().handle);
      return;
    case Kind::EventRecord:
      if (Tally* tally = of(record.as<Kind::EventRecord>().event); tally && seen.made_operation()) {
        if (tally->records++ == 0) tally->record = site_of(seen);
      }
      return;
    case Kind::EventWait:
      if (Tally* tally = of(record.as<Kind::EventWait>().event); tally && seen.made_operation()) ++tally->stream_waits;
      return;
    case Kind::SyncEvent:
    case Kind::QueryEvent:
      if (Tally* tally = of(record.as<Kind::SyncEvent>().event)) ++tally->host_waits;
      return;
    case Kind::EventTime:
      for (const std::uint64_t event : {record.as<Kind::EventTime>().first, record.as<Kind::EventTime>().second}) {
        if (Tally* tally = of(event)) tally->timed = true;
      }
      return;
    default:
      return;
  }
}

void EventHints::want(SiteReader& sites) const {
  for (const Tally& tally : tallies_) {
    if (!tally.worth_telling()) continue;
    sites.want(tally.site);
    sites.want(tally.record);
  }
}

void EventHints::tell(SiteReader& sites, std::vector<HintText>& out) const {
  for (const Tally& tally : tallies_) {
    if (!tally.worth_telling()) continue;
    const bool runtime = !runtime_call(sites.stack(tally.site)).empty();
    HintText text;
    text.hazard = report::Hazard::TimingEvent;
    text.microseconds = static_cast<double>(tally.records) * 1.1;
    text.message = report::counted(tally.created, "event") + (tally.created == 1 ? " is" : " are") +
                   " created with timing here and used for order only.";
    text.evidence = "recorded " + std::to_string(tally.records) + " times, waited for " +
                    std::to_string(tally.stream_waits) + " times by streams and " + std::to_string(tally.host_waits) +
                    " times by the host; " + (runtime ? "cudaEventElapsedTime" : "cuEventElapsedTime") +
                    " was never asked about " + (tally.created == 1 ? "it" : "any of them") +
                    ". Each record writes a time stamp, and a wait for it takes longer.";
    text.fix = runtime ? "create it by cudaEventCreateWithFlags with cudaEventDisableTiming."
                       : "create it with CU_EVENT_DISABLE_TIMING.";
    text.where.push_back({.site = tally.site});
    text.where.push_back({.site = tally.record});
    out.push_back(std::move(text));
  }
}

}  // namespace streamsan::judge
