// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/sync_ladder.h"

#include <algorithm>
#include <set>
#include <utility>

namespace streamsan::judge {

using ordering::Instead;
using ordering::SiteId;
using ordering::StreamId;
using trace::Kind;
using trace::Record;

namespace {

/// More streams than these are a pattern that one wait serves better.
constexpr std::size_t kMostWaits = 4;
constexpr std::size_t kMostStreams = 2;
constexpr std::size_t kMostPlaces = 3;
constexpr std::size_t kMostBusy = 32;  // one that is busy besides is enough

/// Does the site wait for more than one stream?
bool wide(const SyncSite& site) {
  switch (site.kind) {
    case SyncKind::Device:
    case SyncKind::Copy:
    case SyncKind::Fill:
    case SyncKind::Free:
      return true;
    case SyncKind::Stream:
      return site.stream.kind == ordering::StreamKind::Legacy;
    case SyncKind::Event:
    case SyncKind::Barrier:
      return false;
  }
  return false;
}

template <typename Value>
void add_once(std::vector<Value>& list, Value value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

/// What a site's pairs and exposures have in common.
struct Needs {
  std::vector<std::pair<StreamId, StreamId>> between;
  std::vector<StreamId> streams;  ///< of all that must be complete
  std::vector<SiteId> earlier_sites;
  std::vector<SiteId> later_sites;  ///< in the order of their first calls
  bool earlier_on_streams = true;
  bool later_on_streams = true;
  bool legacy = false;         ///< the legacy stream is one of the streams
  bool later_at_host = false;  ///< what depends on it first is a touch by the host
};

Needs needs_of(const SyncSite& site) {
  Needs out;
  std::vector<const SyncPair*> by_later;
  for (const SyncPair& pair : site.pairs) {
    by_later.push_back(&pair);
    out.earlier_on_streams &= pair.earlier.on_stream;
    out.later_on_streams &= pair.later.on_stream;
    if (!pair.earlier.on_stream) continue;
    add_once(out.streams, pair.earlier.stream);
    out.legacy |= pair.earlier_stream.kind == ordering::StreamKind::Legacy;
    add_once(out.earlier_sites, pair.earlier.site);
    if (pair.later.on_stream) add_once(out.between, {pair.earlier.stream, pair.later.stream});
  }
  std::sort(by_later.begin(), by_later.end(),
            [](const SyncPair* a, const SyncPair* b) { return a->later.op < b->later.op; });
  for (const SyncPair* pair : by_later) add_once(out.later_sites, pair->later.site);
  if (!by_later.empty()) {
    out.later_at_host =
        !by_later.front()->later.on_stream && by_later.front()->later.source == ordering::AccessSource::Host;
  }
  for (const SyncExposure& exposure : site.exposures) {
    if (exposure.comes_after) continue;
    add_once(out.streams, exposure.stream);
    out.legacy |= exposure.stream_life.kind == ordering::StreamKind::Legacy;
    add_once(out.earlier_sites, exposure.site);
  }
  return out;
}

}  // namespace

std::vector<SyncRung> ladder(const SyncSite& site, std::size_t index) {
  std::vector<SyncRung> out;
  const auto propose = [&](std::vector<Instead> instead, bool until_host = false) {
    out.push_back({.site = index, .instead = std::move(instead), .until_host = until_host});
  };
  const SiteId at = site.cut.site;
  // A barrier is two orders at once, into the legacy stream and out of it: nothing is put in for it.
  if (!site.waits() || site.pairs.empty() || site.more_pairs != 0) return out;
  const Needs needs = needs_of(site);
  if (!needs.earlier_on_streams) return out;

  // Whether somebody waits at the end, the replay tells.
  const bool host_goes_on = std::any_of(site.exposures.begin(), site.exposures.end(), [](const SyncExposure& each) {
    return each.why != ordering::Exposure::Why::End && !each.comes_after;
  });
  if (needs.later_on_streams && !host_goes_on && needs.between.size() <= kMostWaits) {
    std::vector<Instead> waits;
    for (const auto& [from, to] : needs.between) {
      if (from != to) waits.push_back({.kind = Instead::Kind::EventWait, .at = at, .from = from, .to = to});
    }
    if (!waits.empty()) propose(std::move(waits));
  }
  const bool explicit_wait = is_explicit(site.kind);
  if (explicit_wait && site.kind != SyncKind::Event && needs.streams.size() == 1 &&
      needs.earlier_sites.size() <= kMostPlaces) {
    for (SiteId other : needs.earlier_sites) {
      propose({{.kind = Instead::Kind::EventSync, .at = at, .from = needs.streams[0], .other = other}});
    }
  }
  // A wait for the legacy stream waits for all blocking streams; if that one is what must be complete, it is the call
  // itself.
  const bool itself = site.kind == SyncKind::Stream && needs.legacy;
  if (wide(site) && explicit_wait && !itself && needs.streams.size() <= kMostStreams) {
    std::vector<Instead> syncs;
    for (StreamId stream : needs.streams)
      syncs.push_back({.kind = Instead::Kind::StreamSync, .at = at, .from = stream});
    propose(std::move(syncs));
  }
  if (explicit_wait && !needs.later_sites.empty()) {
    propose({{.kind = Instead::Kind::Move, .at = at, .other = needs.later_sites[0]}}, needs.later_at_host);
  }
  return out;
}

SyncTrial::SyncTrial(std::vector<SyncRung> rungs, std::span<const SyncSite> sites, const IdleOperations& idle)
    : rungs_(std::move(rungs)), sites_(sites), idle_(idle), dirty_(rungs_.size() + 2, false), armed_(rungs_.size()) {
  for (std::uint32_t i = 0; i < rungs_.size(); ++i) {
    at_[static_cast<std::uint64_t>(sites_[rungs_[i].site].cut.site)].push_back(i);
    const Instead& first = rungs_[i].instead.front();
    if (first.kind == Instead::Kind::Move && !rungs_[i].until_host) {
      until_[static_cast<std::uint64_t>(first.other)].push_back(i);
    }
  }
}

void SyncTrial::pair(const ordering::Pair& pair) {
  for (const ordering::InVariant& in : pair.variants) {
    if (in.order > pair.base) finish(in.variant);
  }
}

void SyncTrial::exposed(const ordering::Exposure& exposure) {
  if (!idle_.refutes(exposure)) finish(exposure.variant);
}

void SyncTrial::arrived(std::size_t rung) {
  Armed& armed = armed_[rung];
  if (!armed.armed) {
    ++rungs_[rung].vain;
    return;
  }
  rungs_[rung].useful += armed.passed;
  armed = {};
  --armed_count_;
}

bool SyncTrial::writable(const SyncRung& rung) const {
  const auto exists = [&](StreamId stream) { return stream == StreamId{} || judge_->handles().exists(stream); };
  return std::all_of(rung.instead.begin(), rung.instead.end(), [&](const Instead& each) {
    return each.kind == Instead::Kind::Move || (exists(each.from) && exists(each.to));
  });
}

void SyncTrial::reached(SiteId site) {
  if (const std::vector<std::uint32_t>* rungs = until_.find(static_cast<std::uint64_t>(site))) {
    for (std::uint32_t rung : *rungs) arrived(rung);
  }
}

void SyncTrial::operation(SiteId site, StreamId stream) {
  reached(site);
  if (armed_count_ != 0) {
    for (Armed& armed : armed_) armed.passed |= armed.armed;
  }
  last_[static_cast<std::uint64_t>(stream)] = static_cast<std::uint32_t>(site);
  if (busy_.size() < kMostBusy) add_once(busy_, stream);
}

void SyncTrial::synchronises(SiteId site, std::optional<StreamId> only) {
  if (const std::vector<std::uint32_t>* rungs = at_.find(static_cast<std::uint64_t>(site))) {
    for (std::uint32_t number : *rungs) {
      SyncRung& rung = rungs_[number];
      if (!writable(rung)) finish(static_cast<ordering::VariantId>(number + 1));
      const Instead& first = rung.instead.front();
      switch (first.kind) {
        case Instead::Kind::EventWait:
          ++rung.useful;
          break;
        case Instead::Kind::EventSync: {
          const std::uint32_t* last = last_.find(static_cast<std::uint64_t>(first.from));
          rung.useful += last && *last != static_cast<std::uint32_t>(first.other);
          break;
        }
        case Instead::Kind::StreamSync:
          rung.useful += std::any_of(busy_.begin(), busy_.end(), [&](StreamId stream) {
            return std::none_of(rung.instead.begin(), rung.instead.end(),
                                [&](const Instead& each) { return each.from == stream; });
          });
          break;
        case Instead::Kind::Move:
          armed_count_ += !armed_[number].armed;
          armed_[number] = {.armed = true, .passed = false};
          break;
      }
    }
  }
  if (only) {
    std::erase(busy_, *only);
  } else {
    busy_.clear();
  }
}

void SyncTrial::changes(SyncKind kind) {
  if (armed_count_ == 0) return;
  for (std::size_t i = 0; i < rungs_.size(); ++i) {
    if (armed_[i].armed && sites_[rungs_[i].site].kind == kind) finish(static_cast<ordering::VariantId>(i + 1));
  }
}

void SyncTrial::host_touches() {
  for (std::size_t i = 0; i < rungs_.size(); ++i) {
    // Others that the host makes are not of that place, and say nothing of how often it comes by.
    if (rungs_[i].until_host && armed_[i].armed) arrived(i);
  }
}

void SyncTrial::observe(const trace::Item& item, ordering::OpId first, ordering::OpId last) {
  if (rungs_.empty()) return;
  const Record& record = *item.record;
  const bool executed = first <= last;
  switch (record.kind) {
    case Kind::Launch:
      if (executed) {
        operation(judge_->site_of(record, judge_->places().kernel_index(record.as<Kind::Launch>().function)),
                  judge_->stream_of(record));
      }
      return;
    case Kind::Copy:
    case Kind::Fill:
      if (!executed) return;
      operation(judge_->site_of(record), judge_->stream_of(record));
      if (!(record.flags & trace::kAsyncForm)) synchronises(judge_->site_of(record), judge_->stream_of(record));
      return;
    case Kind::HostFunction:
    case Kind::StreamAction:
    case Kind::GraphLaunch:
      if (executed) operation(judge_->site_of(record), judge_->stream_of(record));
      return;
    case Kind::SyncStream:
      return synchronises(judge_->site_of(record), judge_->stream_of(record));
    case Kind::SyncContext:
      return synchronises(judge_->site_of(record), std::nullopt);
    case Kind::SyncEvent:
      return synchronises(judge_->site_of(record), ordering::StreamId{});
    case Kind::Free:
      if (record.as<Kind::Free>().way != trace::FreeKind::Async) reached(judge_->site_of(record));
      return;
    case Kind::EventRecord:
    case Kind::EventDestroy:
      return changes(SyncKind::Event);
    case Kind::StreamDestroy:
      return changes(SyncKind::Stream);
    case Kind::HostAccess:
    case Kind::HostFree:
      return host_touches();
    default:
      return;
  }
}

std::vector<SyncRung> SyncTrial::take() {
  for (std::size_t i = 0; i < rungs_.size(); ++i) {
    // Moved to where the program comes by more often, one wait would become many.
    rungs_[i].clean = !dirty_[i + 1] && rungs_[i].vain <= rungs_[i].useful;
  }
  return std::move(rungs_);
}

}  // namespace streamsan::judge
