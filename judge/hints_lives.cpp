// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hints_lives.h"

#include <algorithm>

#include "judge/frames.h"
#include "report/text.h"

namespace streamsan::judge {

using trace::Kind;
using trace::Record;

std::uint64_t LifeHints::Tally::cost() const {
  const std::uint64_t kib = made == 0 ? 0 : (bytes / made) >> 10;
  std::uint64_t each = 0;
  switch (thing) {
    case Thing::Memory:
      each = 65'000;
      break;
    case Thing::Managed:
      each = 20'000;
      break;
    case Thing::Pinned:
      each = 20'000 + kib * 400;  // small ones come from a page that is pinned already, as a rule
      break;
    case Thing::Registered:
      each = 80'000 + kib * 45;
      break;
    case Thing::Stream:
      each = 6'000;
      break;
    case Thing::Event:
      each = 200;
      break;
  }
  return std::max(turns * each, blocked);
}

bool LifeHints::Tally::worth_telling() const {
  return turns >= kFewestTurns && cost() >= kLeastCost && last_kernels - first_kernels <= turns * kMostKernels;
}

LifeHints::Tally& LifeHints::tally_of(const Seen& seen, Thing thing, std::uint32_t& index) {
  const ordering::SiteId site = site_of(seen);
  std::uint32_t& known = by_site_[static_cast<std::uint64_t>(site)];
  if (known == 0) {
    Tally& fresh = tallies_.emplace_back();
    known = static_cast<std::uint32_t>(tallies_.size());
    fresh.site = site;
    fresh.thing = thing;
    fresh.least = ~std::uint64_t{0};
    fresh.first_kernels = seen.kernels;
  }
  index = known;
  return tallies_[known - 1];
}

void LifeHints::made(const Seen& seen, Thing thing, std::uint64_t bytes, ordering::FlatMap<std::uint32_t>& lives,
                     std::uint64_t handle) {
  std::uint32_t index = 0;
  Tally& tally = tally_of(seen, thing, index);
  if (tally.made++ != 0 && tally.ended_since && seen.kernels != tally.last_kernels) ++tally.turns;
  tally.bytes += bytes;
  tally.least = std::min(tally.least, bytes);
  tally.most = std::max(tally.most, bytes);
  tally.ended_since = false;
  tally.last_kernels = seen.kernels;
  lives[handle] = index;
}

void LifeHints::ended(const Seen& seen, ordering::FlatMap<std::uint32_t>& lives, std::uint64_t handle) {
  const std::uint32_t* index = lives.find(handle);
  if (!index) return;
  Tally& tally = tallies_[*index - 1];
  tally.ended_since = true;
  if (tally.ended++ == 0) tally.end = site_of(seen);
  if (seen.record().kind == Kind::Free) calls_.began(seen.item, *index - 1);
  lives.erase(handle);
}

void LifeHints::stream_destroyed(const Seen& seen) {
  const auto& w = seen.record().as<Kind::StreamDestroy>();
  const std::uint64_t* created = placeless_streams_.find(w.handle);
  if (!created) return ended(seen, streams_, w.handle);
  std::uint32_t index = 0;
  Tally& tally = tally_of(seen, Thing::Stream, index);
  if (tally.made++ != 0 && *created > tally.streams_made && seen.kernels != tally.last_kernels) ++tally.turns;
  ++tally.ended;
  tally.end = tally.site;
  tally.streams_made = streams_made_;
  tally.last_kernels = seen.kernels;
  placeless_streams_.erase(w.handle);
}

void LifeHints::allocated(const Seen& seen) {
  const Record& record = seen.record();
  const std::uint64_t row = record.api;
  if (row >= api::kRowCount || (record.flags & trace::kVariable) != 0) return;
  const auto& w = record.as<Kind::Alloc>();
  switch (api::kRows[row].effect.kind) {
    case api::EffectKind::Alloc:
    case api::EffectKind::AllocPitch:
      return made(seen, Thing::Memory, w.bytes, memory_, w.address);
    case api::EffectKind::AllocManaged:
      return made(seen, Thing::Managed, w.bytes, memory_, w.address);
    case api::EffectKind::AllocHost:
      return made(seen, Thing::Pinned, w.bytes, memory_, w.address);
    case api::EffectKind::Register:
      return made(seen, Thing::Registered, w.bytes, memory_, w.address);
    default:
      // Something else lives there now.
      memory_.erase(w.address);
      return;
  }
}

void LifeHints::observe(const Seen& seen) {
  const Record& record = seen.record();
  const auto called = [&record](api::EffectKind kind) {
    return record.api < api::kRowCount && api::kRows[record.api].effect.kind == kind;
  };
  switch (record.kind) {
    case Kind::CallEnd:
      if (const auto end = calls_.ended(seen.item)) tallies_[end->owner].blocked += end->nanoseconds;
      return;
    case Kind::Alloc:
      return allocated(seen);
    case Kind::Free:
      return ended(seen, memory_, record.as<Kind::Free>().address);
    case Kind::StreamCreate:
      if (!called(api::EffectKind::StreamCreate)) return;
      if (record.stack != 0) return made(seen, Thing::Stream, 0, streams_, record.as<Kind::StreamCreate>().handle);
      placeless_streams_[record.as<Kind::StreamCreate>().handle] = ++streams_made_;
      return;
    case Kind::StreamDestroy:
      return stream_destroyed(seen);
    case Kind::EventCreate:
      if (called(api::EffectKind::EventCreate))
        made(seen, Thing::Event, 0, events_, record.as<Kind::EventCreate>().handle);
      return;
    case Kind::EventDestroy:
      return ended(seen, events_, record.as<Kind::EventDestroy>().handle);
    default:
      return;
  }
}

void LifeHints::want(SiteReader& sites) const {
  for (const Tally& tally : tallies_) {
    if (!tally.worth_telling()) continue;
    sites.want(tally.site);
    sites.want(tally.end);
  }
}

void LifeHints::tell(SiteReader& sites, std::vector<HintText>& out) const {
  for (const Tally& tally : tallies_) {
    if (!tally.worth_telling()) continue;
    const std::string make = sites.what(tally.site);
    const std::string end = sites.what(tally.end);
    const bool runtime = !runtime_call(sites.stack(tally.site)).empty();
    HintText text;
    text.hazard = report::Hazard::AllocInLoop;
    const std::string kernels = report::counted(tally.last_kernels - tally.first_kernels, "kernel");
    if (tally.thing == Thing::Stream && tally.site == tally.end) {
      text.message =
          "streams are created and destroyed again and again between kernels: " + std::to_string(tally.made) +
          " by this " + end + ".";
      text.evidence = std::to_string(tally.turns) + " of " + std::to_string(tally.made) +
                      " were created after the end of the one before, with " + kernels + " in between in all";
    } else {
      text.message = make + " and " + end +
                     " are called again and again between kernels: " + std::to_string(tally.made) + " and " +
                     std::to_string(tally.ended) + " times.";
      text.evidence = std::to_string(tally.turns) + " of " + report::counted(tally.made, "call") + " of " + make +
                      " come after the end of what an earlier one made, with " + kernels + " in between in all";
    }
    if (tally.most != 0) {
      text.evidence += ", for " + bytes_text(tally.least) +
                       (tally.least == tally.most ? " each time" : " to " + bytes_text(tally.most));
    }
    text.evidence += ". ";
    if (tally.blocked != 0) text.evidence += "The host was in " + end + " for " + time_text(tally.blocked) + ". ";
    switch (tally.thing) {
      case Thing::Memory:
        text.evidence += "Both may synchronise the device.";
        text.fix = "allocate before the loop and free after it, or use stream-ordered memory (" +
                   std::string(runtime ? "cudaMallocAsync" : "cuMemAllocAsync") + ").";
        break;
      case Thing::Managed:
        text.evidence += "Both may synchronise the device.";
        text.fix = "allocate before the loop and free after it.";
        break;
      case Thing::Pinned:
        text.evidence += "Both may synchronise the device, and pin or unpin every page.";
        text.fix = "allocate before the loop and free after it, or keep the buffers in a pool.";
        break;
      case Thing::Registered:
        text.evidence += "Both may synchronise the device, and pin or unpin every page.";
        text.fix =
            "register the memory before the loop and unregister it after, or copy through a pinned buffer that "
            "is kept.";
        break;
      case Thing::Stream:
        text.evidence += "Creating and destroying a stream takes as long as launching a few kernels.";
        text.fix = "create the stream before the loop and use it again.";
        break;
      case Thing::Event:
        text.evidence += "An event can be recorded any number of times.";
        text.fix = "create the event before the loop and record it again.";
        break;
    }
    text.microseconds = static_cast<double>(tally.cost()) / 1000;
    text.where.push_back({.site = tally.site});
    if (tally.end != tally.site) text.where.push_back({.site = tally.end});
    out.push_back(std::move(text));
  }
}

}  // namespace streamsan::judge
