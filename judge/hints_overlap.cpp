// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hints_overlap.h"

#include <algorithm>
#include <utility>

#include "report/text.h"

namespace streamsan::judge {

using ordering::StreamId;
using ordering::StreamKind;
using trace::Kind;
using trace::Record;

namespace {

constexpr std::size_t kMostReasons = 32;  // of one stream
constexpr std::size_t kReasonsShown = 3;

bool created(const StreamLife& life) {
  return life.kind == StreamKind::Blocking || life.kind == StreamKind::NonBlocking;
}

/// As waits(), and frees.
bool makes_host_wait(const Record& record) {
  const bool frees = record.kind == Kind::Free && record.as<Kind::Free>().way != trace::FreeKind::Async;
  return frees || waits(record);
}

}  // namespace

OverlapHints::Use* OverlapHints::use_of(const Seen& seen, StreamId stream) {
  std::uint32_t& index = by_stream_[static_cast<std::uint64_t>(stream)];
  if (index != 0) return &uses_[index - 1];
  const StreamLife* life = seen.judge.handles().life(stream);
  if (!life) return nullptr;
  if (uses_.size() == kMostStreams) {
    too_many_ = true;
    return nullptr;
  }
  Use& fresh = uses_.emplace_back();
  index = static_cast<std::uint32_t>(uses_.size());
  fresh.stream = stream;
  fresh.life = *life;
  fresh.thread = seen.record().thread;
  return &fresh;
}

/// A wait has returned, or a query has succeeded.
void OverlapHints::learn(const Seen& seen) {
  const std::uint16_t thread = seen.record().thread;
  const ordering::SiteId* site = waiting_.find(thread);
  if (!site) return;
  for (Use& use : uses_) {
    if (use.works == 0 || use.ended || use.learned != ordering::kNoSite) continue;
    if (seen.judge.model().is_after(ordering::ThreadId{thread}, use.last)) use.learned = *site;
  }
}

void OverlapHints::turn(Use& use, std::uint32_t from, const TouchedMemory& memory) {
  ++use.turns;
  Reason reason{.how = Orders::Other, .site = {}, .from = from, .turns = 0, .apart = 0};
  if (uses_[from].learned != ordering::kNoSite) {
    reason.how = Orders::Host;
    reason.site = uses_[from].learned;
  } else if (use.waited != ordering::kNoSite) {
    reason.how = Orders::Event;
    reason.site = use.waited;
  } else if (legacy_acted_ != ordering::kNoSite) {
    reason.how = Orders::Legacy;
    reason.site = legacy_acted_;
  }
  auto known = std::find_if(use.reasons.begin(), use.reasons.end(), [&](const Reason& each) {
    return each.how == reason.how && each.site == reason.site && each.from == from;
  });
  if (known == use.reasons.end()) {
    if (use.reasons.size() == kMostReasons) return;
    known = use.reasons.insert(use.reasons.end(), reason);
  }
  ++known->turns;
  if (memory.apart(uses_[from].memory)) ++known->apart;
}

void OverlapHints::work(const Seen& seen, Use& use) {
  const std::optional<ordering::Moment> now = seen.judge.model().last_operation(use.stream);
  if (!now) return;
  for (Use& other : uses_) {
    if (&other == &use || other.works == 0 || other.ended || (other.overlaps && use.overlaps)) continue;
    if (seen.judge.model().is_after(use.stream, other.last)) continue;
    other.overlaps = use.overlaps = true;
  }
  const auto index = static_cast<std::uint32_t>(&use - uses_.data());
  if (created(use.life) && !use.overlaps) {
    TouchedMemory memory = touched_by(seen);
    if (last_ && *last_ != index) turn(use, *last_, memory);
    use.memory = std::move(memory);
  }
  if (created(use.life)) last_ = index;
  ++use.works;
  use.many_threads |= use.thread != seen.record().thread;
  use.last = *now;
  use.waited = use.learned = ordering::kNoSite;
}

void OverlapHints::observe(const Seen& seen) {
  if (too_many_) return;
  const Record& record = seen.record();
  if (makes_host_wait(record)) {
    waiting_[record.thread] = site_of(seen);
    if (waiters_.size() < 2 && (waiters_.empty() || waiters_[0] != record.thread)) waiters_.push_back(record.thread);
  }
  if (record.kind == Kind::CallEnd || record.kind == Kind::QueryStream || record.kind == Kind::QueryEvent) {
    return learn(seen);
  }
  if (record.kind == Kind::StreamDestroy) {
    // From now on its lane may belong to another stream, while work of the destroyed one may still be under way.
    for (Use& use : uses_) {
      if (use.ended || use.life.handle != record.as<Kind::StreamDestroy>().handle) continue;
      use.ended = true;
      const bool complete = use.works == 0 || seen.judge.model().is_after(ordering::ThreadId{record.thread}, use.last);
      if (!complete) use.overlaps = true;
    }
    return;
  }
  if (!seen.made_operation()) return;
  if (!is_work(record.kind) && record.kind != Kind::HostFunction && record.kind != Kind::EventWait) return;
  const StreamId stream = seen.judge.stream_of(record);
  Use* use = use_of(seen, stream);
  if (!use) return;
  if (record.kind == Kind::EventWait) {
    use->waited = site_of(seen);
    return;
  }
  if (use->life.kind == StreamKind::Legacy) legacy_acted_ = site_of(seen);
  work(seen, *use);
}

bool OverlapHints::waits_alone(std::uint16_t thread) const {
  return std::all_of(waiters_.begin(), waiters_.end(), [thread](std::uint16_t each) { return each == thread; });
}

/// Streams that had a turn after one another belong together.
std::vector<OverlapHints::Group> OverlapHints::groups() const {
  std::vector<Group> out;
  if (too_many_) return out;
  std::vector<bool> taken(uses_.size());
  for (std::uint32_t first = 0; first < uses_.size(); ++first) {
    if (taken[first] || !uses_[first].candidate() || !waits_alone(uses_[first].thread)) continue;
    Group group;
    group.streams.push_back(first);
    taken[first] = true;
    for (std::size_t i = 0; i < group.streams.size(); ++i) {
      const std::uint32_t here = group.streams[i];
      for (std::uint32_t other = 0; other < uses_.size(); ++other) {
        if (taken[other] || !uses_[other].candidate() || uses_[other].thread != uses_[first].thread) continue;
        const auto after = [](const Use& use, std::uint32_t from) {
          return std::any_of(use.reasons.begin(), use.reasons.end(),
                             [from](const Reason& reason) { return reason.from == from; });
        };
        if (!after(uses_[other], here) && !after(uses_[here], other)) continue;
        taken[other] = true;
        group.streams.push_back(other);
      }
    }
    for (const std::uint32_t index : group.streams) {
      group.works += uses_[index].works;
      for (const Reason& reason : uses_[index].reasons) {
        const bool inside = std::find(group.streams.begin(), group.streams.end(), reason.from) != group.streams.end();
        if (!inside) continue;
        group.turns += reason.turns;
        group.apart += reason.apart;
        auto known = std::find_if(group.reasons.begin(), group.reasons.end(), [&reason](const Reason& each) {
          return each.how == reason.how && each.site == reason.site;
        });
        if (known == group.reasons.end()) {
          group.reasons.push_back(reason);
        } else {
          known->turns += reason.turns;
        }
      }
    }
    std::stable_sort(group.reasons.begin(), group.reasons.end(),
                     [](const Reason& a, const Reason& b) { return a.turns > b.turns; });
    const bool matters = group.streams.size() > 1 && group.turns >= kFewestTurns * group.streams.size();
    if (matters && group.reasons.front().site != ordering::kNoSite) out.push_back(std::move(group));
  }
  return out;
}

void OverlapHints::want(SiteReader& sites) const {
  for (const Group& group : groups()) {
    for (const Reason& reason : group.reasons) sites.want(reason.site);
  }
}

void OverlapHints::tell(SiteReader& sites, std::vector<HintText>& out) const {
  constexpr double kEach = 5;  // the GPU has nothing to do for about so long at each turn
  for (const Group& group : groups()) {
    HintText text;
    text.hazard = report::Hazard::StreamsNeverOverlap;
    text.microseconds = static_cast<double>(group.turns) * kEach;
    std::string names;
    for (std::size_t i = 0; i < group.streams.size(); ++i) {
      names += i == 0 ? "" : i + 1 == group.streams.size() ? " and " : ", ";
      names += stream_report(uses_[group.streams[i]].life).name;
    }
    text.message = names + " never overlap: each piece of work in one comes after all before it in the other" +
                   (group.streams.size() > 2 ? "s." : ".");
    text.evidence = std::to_string(group.works) + " pieces of work took " + std::to_string(group.turns) +
                    " turns from stream to stream, and each was ordered after the one before: ";
    std::uint64_t rest = group.turns;
    for (std::size_t i = 0; i < group.reasons.size() && i < kReasonsShown; ++i) {
      const Reason& reason = group.reasons[i];
      if (reason.site == ordering::kNoSite) continue;
      const std::string at = action_of(sites, reason.site) + sites.place(reason.site);
      rest -= reason.turns;
      text.evidence += (i == 0 ? "" : ", ") + std::to_string(reason.turns) + " by ";
      switch (reason.how) {
        case Orders::Host:
          text.evidence += at + ", in which the host waited";
          break;
        case Orders::Event:
        case Orders::Other:
          text.evidence += at;
          break;
        case Orders::Legacy:
          text.evidence += at + " in the legacy default stream";
          text.unless_reported.push_back(reason.site);
          break;
      }
      text.where.push_back({.site = reason.site});
    }
    if (rest != 0) text.evidence += ", " + std::to_string(rest) + " otherwise";
    text.evidence += ". In " + std::to_string(group.apart) +
                     " of them the two pieces share no memory. Streams that take turns are not faster than one.";
    text.fix = group.apart != 0
                   ? "do not order independent work there (--syncs tells what the waits are needed for), or "
                     "use one stream."
                   : "let the work of one turn use other buffers than that of the next, or use one stream.";
    out.push_back(std::move(text));
  }
}

}  // namespace streamsan::judge
