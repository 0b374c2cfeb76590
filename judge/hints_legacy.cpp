// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hints_legacy.h"

#include <algorithm>

#include "judge/frames.h"
#include "report/text.h"

namespace streamsan::judge {

using ordering::StreamId;
using ordering::StreamKind;
using trace::Kind;
using trace::Record;

LegacyHints::Barrier& LegacyHints::barrier_of(ordering::ContextId context) {
  return barriers_[static_cast<std::uint64_t>(context)];
}

void LegacyHints::action(const Seen& seen, StreamId stream, Barrier& barrier) {
  const bool waits = seen.record().kind == Kind::EventWait;
  if (!barrier.made || !barrier.after.empty()) {
    barrier.made = true;
    barrier.counted = false;
    barrier.legacy = stream;
    barrier.site = site_of(seen);
    barrier.op = seen.first;
    barrier.memory = {};
    barrier.before.swap(barrier.after);
    barrier.after.clear();
    // What the host knows to be complete nobody waits for.
    const ordering::ThreadId thread{seen.record().thread};
    std::erase_if(barrier.before, [&](const Work& work) { return seen.judge.model().is_after(thread, work.moment); });
  }
  if (waits) {
    barrier.memory.unknown = true;
  } else {
    barrier.memory.add(touched_by(seen));
  }
}

void LegacyHints::count(const Seen& seen, Barrier& barrier, const Work& before, const Work& after) {
  barrier.counted = true;
  std::uint32_t& index = by_site_[static_cast<std::uint64_t>(barrier.site)];
  if (index == 0) {
    Tally& fresh = tallies_.emplace_back();
    index = static_cast<std::uint32_t>(tallies_.size());
    fresh.site = barrier.site;
    fresh.op = barrier.op;
    fresh.before = before;
    fresh.after = after;
    const Handles& handles = seen.judge.handles();
    const auto copy = [&handles](StreamLife& to, StreamId from) {
      if (const StreamLife* life = handles.life(from)) to = *life;
    };
    copy(fresh.legacy, barrier.legacy);
    copy(fresh.before_stream, before.stream);
    copy(fresh.after_stream, after.stream);
  }
  ++tallies_[index - 1].times;
}

void LegacyHints::work(const Seen& seen, StreamId stream, Barrier& barrier) {
  auto mine = std::find_if(barrier.after.begin(), barrier.after.end(),
                           [stream](const Work& each) { return each.stream == stream; });
  if (mine == barrier.after.end()) {
    if (barrier.after.size() == kMostStreams) barrier.after.erase(barrier.after.begin());
    mine = barrier.after.insert(barrier.after.end(), Work{});
    mine->stream = stream;
  }
  const Record& record = seen.record();
  if (record.kind == Kind::EventWait) {
    mine->waited = true;
    return;
  }
  const TouchedMemory memory = touched_by(seen);
  const std::optional<ordering::Moment> moment = seen.judge.model().last_operation(stream);
  mine->memory.add(memory);
  mine->site = site_of(seen);
  mine->op = seen.first;
  if (moment) mine->moment = *moment;
  if (!barrier.made || barrier.counted || mine->waited || !is_work(record.kind)) return;
  for (const Work& before : barrier.before) {
    if (before.stream == stream || before.op == ordering::kNoOp) continue;
    if (seen.judge.model().is_after(ordering::ThreadId{record.thread}, before.moment)) continue;
    if (!before.memory.apart(memory)) continue;
    if (!barrier.memory.apart(before.memory) && !barrier.memory.apart(memory)) continue;
    return count(seen, barrier, before, *mine);
  }
}

void LegacyHints::observe(const Seen& seen) {
  const Record& record = seen.record();
  if (!seen.made_operation()) return;
  switch (record.kind) {
    case Kind::Launch:
    case Kind::Copy:
    case Kind::Fill:
    case Kind::GraphLaunch:
    case Kind::HostFunction:
    case Kind::StreamAction:
    case Kind::StreamJoinsAll:
    case Kind::EventRecord:
    case Kind::EventWait:
      break;
    default:
      return;
  }
  const StreamId stream = seen.judge.stream_of(record);
  const StreamLife* life = seen.judge.handles().life(stream);
  if (!life || life->kind == StreamKind::NonBlocking) return;
  Barrier& barrier = barrier_of(life->context);
  if (life->kind == StreamKind::Legacy) {
    action(seen, stream, barrier);
  } else if (record.kind != Kind::EventRecord) {
    work(seen, stream, barrier);
  }
}

void LegacyHints::want(SiteReader& sites) const {
  for (const Tally& tally : tallies_) {
    if (!tally.worth_telling()) continue;
    for (const ordering::SiteId site : {tally.site, tally.before.site, tally.after.site}) sites.want(site);
  }
}

void LegacyHints::tell(SiteReader& sites, std::vector<HintText>& out) const {
  constexpr double kEach = 10;  // a short kernel of one stream that does not run beside one of the other
  for (const Tally& tally : tallies_) {
    if (!tally.worth_telling()) continue;
    const std::string what = action_of(sites, tally.site);
    const std::string before = stream_report(tally.before_stream).name;
    const std::string after = stream_report(tally.after_stream).name;
    const bool runtime = !runtime_call(sites.stack(tally.site)).empty();
    HintText text;
    text.hazard = report::Hazard::LegacySerialisation;
    text.microseconds = static_cast<double>(tally.times) * kEach;
    text.message = what + " in the legacy default stream makes independent streams wait for each other.";
    text.evidence = report::counted(tally.times, "time") +
                    " it stood between work of two blocking streams that share no memory, and nothing had waited for "
                    "the first: so op #" +
                    std::to_string(static_cast<std::uint64_t>(tally.op)) + " between op #" +
                    std::to_string(static_cast<std::uint64_t>(tally.before.op)) + " in " + before + " and op #" +
                    std::to_string(static_cast<std::uint64_t>(tally.after.op)) + " in " + after +
                    ". It starts after all work in blocking streams, and their later work starts after it.";
    text.fix =
        std::string("create the streams with ") +
        (runtime ? "cudaStreamNonBlocking and let those that need its results wait for an event, or compile with "
                   "--default-stream per-thread."
                 : "CU_STREAM_NON_BLOCKING and let those that need its results wait for an event.");
    text.where.push_back({tally.site, tally.legacy, tally.op});
    text.where.push_back({tally.before.site, tally.before_stream, tally.before.op});
    text.where.push_back({tally.after.site, tally.after_stream, tally.after.op});
    out.push_back(std::move(text));
  }
}

}  // namespace streamsan::judge
