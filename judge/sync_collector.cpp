// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See sync_collector.h. Word positions are those of trace/format.h.
#include "judge/sync_collector.h"

#include <algorithm>

#include "judge/mix.h"

namespace streamsan::judge {

using ordering::OpId;
using ordering::SiteId;
using ordering::VariantId;
using trace::Item;
using trace::Kind;
using trace::Record;

namespace {

/// Mixes numbers into a key of a FlatMap. Two of 64 bits that collide would fold what is not equal: once in billions.
class Key {
 public:
  template <typename Value>
  Key& add(Value value) {
    hash_ = mix(hash_, static_cast<std::uint64_t>(value));
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0x2545F4914F6CDD1Dull;
};

bool asynchronous(const Record& record) { return (record.flags & trace::kAsyncForm) != 0; }

}  // namespace

bool IdleOperations::refutes(const ordering::Exposure& exposure) const {
  using Why = ordering::Exposure::Why;
  if (exposure.why != Why::HostRead && exposure.why != Why::HostWrite) return false;
  const std::vector<ordering::Range>* ranges = ranges_.find(static_cast<std::uint64_t>(exposure.op));
  return ranges && !exposure.range.empty() && std::any_of(ranges->begin(), ranges->end(), [&](ordering::Range range) {
           return range.contains(exposure.range);
         });
}

void SyncCollector::variant(VariantId variant, const ordering::Cut& cut) {
  if (variants_.size() <= variant) variants_.resize(variant + 1);
  variants_[variant].site.cut = cut;
}

void SyncCollector::mattered(VariantId variant, OpId) {
  if (variant < variants_.size()) ++variants_[variant].site.mattered;
}

void SyncCollector::pair(const ordering::Pair& pair) {
  for (const ordering::InVariant& in : pair.variants) {
    if (in.order <= pair.base || in.variant >= variants_.size()) continue;
    Variant& variant = variants_[in.variant];
    ++variant.pairs;
    const std::uint64_t key = Key()
                                  .add(in.variant)
                                  .add(pair.kind)
                                  .add(in.order)
                                  .add(pair.certainty)
                                  .add(pair.earlier.site)
                                  .add(pair.later.site)
                                  .add(pair.earlier.on_stream ? pair.earlier.stream : ordering::StreamId{})
                                  .add(pair.later.on_stream ? pair.later.stream : ordering::StreamId{})
                                  .value();
    std::uint32_t& index = pairs_[key];
    if (index != 0) {
      if (index != kNotKept) ++variant.site.pairs[index - 1].count;
      variant.settled = variant.pairs - variant.pairs_at_newest >= kPairsUntilSettled;
      continue;
    }
    variant.pairs_at_newest = variant.pairs;
    if (variant.site.pairs.size() >= SyncSite::kMostPairs) {
      ++variant.site.more_pairs;
      index = kNotKept;
      continue;
    }
    SyncPair& kept = variant.site.pairs.emplace_back();
    index = static_cast<std::uint32_t>(variant.site.pairs.size());
    kept.kind = pair.kind;
    kept.certainty = pair.certainty;
    kept.order = in.order;
    kept.earlier = pair.earlier;
    kept.later = pair.later;
    kept.allocation = pair.allocation;
    if (const StreamLife* life = judge_->handles().life(pair.earlier.stream)) kept.earlier_stream = *life;
    if (const StreamLife* life = judge_->handles().life(pair.later.stream)) kept.later_stream = *life;
  }
}

void SyncCollector::exposed(const ordering::Exposure& exposure) {
  if (exposure.variant >= variants_.size() || idle_operations_.refutes(exposure)) return;
  SyncSite& site = variants_[exposure.variant].site;
  const std::uint64_t key = Key()
                                .add(exposure.variant)
                                .add(exposure.why)
                                .add(exposure.site)
                                .add(exposure.stream)
                                .add(exposure.memory)
                                .add(exposure.comes_after)
                                .value();
  std::uint32_t& index = exposures_[key];
  if (index != 0) {
    if (index != kNotKept) ++site.exposures[index - 1].count;
    return;
  }
  // An end is a verdict; the others are reasons, of which a few will do.
  if (site.exposures.size() >= SyncSite::kMostExposures && exposure.why != ordering::Exposure::Why::End) {
    index = kNotKept;
    return;
  }
  SyncExposure& kept = site.exposures.emplace_back();
  index = static_cast<std::uint32_t>(site.exposures.size());
  kept.why = exposure.why;
  kept.site = exposure.site;
  kept.stream = exposure.stream;
  kept.memory = exposure.memory;
  kept.comes_after = exposure.comes_after;
  if (const StreamLife* life = judge_->handles().life(exposure.stream)) kept.stream_life = *life;
}

namespace {

bool submits(Kind kind) {
  return kind == Kind::Launch || kind == Kind::Copy || kind == Kind::Fill || kind == Kind::GraphLaunch;
}

}  // namespace

SyncCollector::Seen& SyncCollector::see(const Record& record, SyncKind kind, std::uint32_t kernel) {
  Seen& seen = seen_[static_cast<std::uint64_t>(judge_->site_of(record, kernel))];
  if (seen.calls++ == 0) seen.kind = kind;
  return seen;
}

void SyncCollector::blocks(const Item& item, SyncKind kind) {
  const Record& record = *item.record;
  Seen& seen = see(record, kind);
  if (kind == SyncKind::Stream && seen.calls == 1) {
    if (const StreamLife* life = judge_->handles().life(judge_->stream_of(record))) seen.stream = *life;
  }
  Blocking& last = blocking_[record.thread];
  const ordering::SiteId site = judge_->site_of(record);
  const bool known = last.site == ordering::kNoSite || last.submitted || last.site == site ||
                     std::find(last.before.begin(), last.before.end(), last.site) != last.before.end();
  if (!known && last.before.size() < kMostBefore) last.before.push_back(last.site);
  last.position = item.position;
  last.site = site;
  last.submitted = false;
}

void SyncCollector::call_end(const Item& item) {
  const Record& record = *item.record;
  const Blocking* call = blocking_.find(record.thread);
  const auto& w = record.as<Kind::CallEnd>();
  if (!call || call->position != w.position) return;
  Seen& seen = seen_[static_cast<std::uint64_t>(call->site)];
  if (w.made != 0 && w.returned >= w.made) {
    seen.blocked_ns += w.returned - w.made;
    seen.timed = true;
  }
  if (item.cancelled) return;
  std::erase_if(open_events_, [&](ordering::EventId event) {
    const std::optional<ordering::Moment> moment = judge_->model().last_record(event);
    if (!moment) return true;
    if (!judge_->model().is_after(ordering::ThreadId{record.thread}, *moment)) return false;
    known_by_[static_cast<std::uint64_t>(event)] = static_cast<std::uint32_t>(call->site);
    return true;
  });
}

void SyncCollector::clock_read(const Item& item) {
  const Blocking* call = blocking_.find(item.record->thread);
  if (!call) return;
  const ordering::SiteId site = judge_->site_of(*item.record);
  const auto count = [&](ordering::SiteId after) {
    std::vector<ClockReads>& clocks = seen_[static_cast<std::uint64_t>(after)].clocks;
    auto same = std::find_if(clocks.begin(), clocks.end(), [&](const ClockReads& each) { return each.site == site; });
    if (same == clocks.end() && clocks.size() < kMostClocks) {
      const std::uint32_t bytes = item.record->as<Kind::ClockRead>().name_bytes;
      same = clocks.insert(same, {.site = site, .function = std::string(trace::payload_text(item.payload, 0, bytes))});
    }
    ++(same == clocks.end() ? clocks.back() : *same).calls;
  };
  count(call->site);
  for (const ordering::SiteId before : call->before) count(before);
}

void SyncCollector::event_time(const Record& record) {
  const auto& w = record.as<Kind::EventTime>();
  for (const std::uint64_t handle : {w.first, w.second}) {
    const std::optional<ordering::EventId> event = judge_->handles().known_event(handle);
    if (!event) continue;
    const auto id = static_cast<std::uint64_t>(*event);
    if (const std::uint32_t* site = recorded_at_.find(id)) ++seen_[*site].record_times;
    if (const std::uint32_t* site = known_by_.find(id)) ++seen_[*site].event_times;
  }
}

void SyncCollector::observe(const Item& item, OpId first, OpId last) {
  const Record& record = *item.record;
  const bool executed = first <= last;
  while (!idle_.empty() && idle_.front().position <= item.position) {
    if (idle_.front().position == item.position && executed) idle_operations_.add(last, idle_.front().range);
    idle_ = idle_.subspan(1);
  }
  if (executed && submits(record.kind)) {
    if (Blocking* call = blocking_.find(record.thread)) {
      call->before.clear();
      call->submitted = true;
    }
  }
  switch (record.kind) {
    case Kind::Launch:
      if (!executed) return;
      if (!judge_->last_launch().exact.complete) ++inferred_launches_;
      if (record.as<Kind::Launch>().stream == trace::kLegacyStream) {
        see(record, SyncKind::Barrier, judge_->places().kernel_index(record.as<Kind::Launch>().function));
      }
      return;
    case Kind::Copy:
    case Kind::Fill: {
      if (!executed) return;
      const SyncKind kind = record.kind == Kind::Copy ? SyncKind::Copy : SyncKind::Fill;
      if (asynchronous(record)) {
        see(record, kind).asynchronous = true;
      } else {
        blocks(item, kind);
      }
      return;
    }
    case Kind::HostFunction:
    case Kind::StreamAction:
    case Kind::GraphLaunch:
      if (executed && record.in_stream().stream == trace::kLegacyStream) see(record, SyncKind::Barrier);
      return;
    case Kind::Free:
      if (record.as<Kind::Free>().way == trace::FreeKind::Async) {
        if (executed && record.as<Kind::Free>().stream == trace::kLegacyStream) see(record, SyncKind::Barrier);
      } else {
        blocks(item, SyncKind::Free);
      }
      return;
    case Kind::SyncStream:
      return blocks(item, SyncKind::Stream);
    case Kind::SyncEvent:
      return blocks(item, SyncKind::Event);
    case Kind::SyncContext:
      return blocks(item, SyncKind::Device);
    case Kind::CallEnd:
      return call_end(item);
    case Kind::EventCreate:
      if (record.as<Kind::EventCreate>().creation_flags & kEventDisableTiming) {
        untimed_[record.as<Kind::EventCreate>().handle] = true;
      } else {
        untimed_.erase(record.as<Kind::EventCreate>().handle);
      }
      return;
    case Kind::EventRecord: {
      if (!executed) return;
      if (record.as<Kind::EventRecord>().stream == trace::kLegacyStream) see(record, SyncKind::Barrier);
      const std::optional<ordering::EventId> event =
          judge_->handles().known_event(record.as<Kind::EventRecord>().event);
      if (!event || untimed_.find(record.as<Kind::EventRecord>().event)) return;
      known_by_.erase(static_cast<std::uint64_t>(*event));
      if (record.as<Kind::EventRecord>().stream == trace::kLegacyStream) {
        recorded_at_[static_cast<std::uint64_t>(*event)] = static_cast<std::uint32_t>(judge_->site_of(record));
      } else {
        recorded_at_.erase(static_cast<std::uint64_t>(*event));
      }
      if (std::find(open_events_.begin(), open_events_.end(), *event) != open_events_.end()) return;
      if (open_events_.size() == kOpenEvents) open_events_.pop_front();
      open_events_.push_back(*event);
      return;
    }
    case Kind::EventWait:
      if (executed && record.as<Kind::EventWait>().stream == trace::kLegacyStream) see(record, SyncKind::Barrier);
      return;
    case Kind::ClockRead:
      return clock_read(item);
    case Kind::EventTime:
      return event_time(record);
    default:
      return;
  }
}

std::vector<ordering::SiteId> SyncCollector::clock_sites() const {
  std::vector<ordering::SiteId> out;
  seen_.for_each([&](std::uint64_t, const Seen& seen) {
    for (const ClockReads& clock : seen.clocks) out.push_back(clock.site);
  });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::vector<SyncSite> SyncCollector::take(std::span<const ordering::SiteId> not_counted) {
  std::vector<SyncSite> out;
  for (Variant& variant : variants_) {
    SyncSite& site = variant.site;
    if (site.cut.site == ordering::kNoSite) continue;
    // A barrier that had nothing to order is no synchronisation; nor is a copy that did not wait.
    const Seen* seen = seen_.find(static_cast<std::uint64_t>(site.cut.site));
    if (seen) {
      site.kind = seen->kind;
      site.asynchronous = seen->asynchronous;
      site.stream = seen->stream;
      site.calls = seen->calls;
      site.blocked_ns = seen->blocked_ns;
      site.timed = seen->timed;
      for (const ClockReads& clock : seen->clocks) {
        if (std::find(not_counted.begin(), not_counted.end(), clock.site) != not_counted.end()) continue;
        if (site.clock_reads == 0) site.clock = clock.function;
        site.clock_reads += clock.calls;
      }
      site.event_times = seen->event_times;
    }
    if (site.cut.effect == ordering::Effect::Barrier) {
      site.kind = SyncKind::Barrier;
      site.clock_reads = site.blocked_ns = 0;
      site.event_times = seen ? seen->record_times : 0;
      site.timed = false;
    }
    const bool implicit = site.kind == SyncKind::Barrier || site.asynchronous;
    if (implicit && site.mattered == 0 && site.pairs.empty() && site.exposures.empty()) continue;
    out.push_back(std::move(site));
  }
  variants_.clear();
  return out;
}

}  // namespace streamsan::judge
