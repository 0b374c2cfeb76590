// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An access against the past, and the making of a hazard (checks.h).
//
// One access may be unordered with thousands of earlier ones, a loop on another stream for example. They are one
// mistake: for each lane the worst conflict is reported, an error before a latent one before a possible one, and the
// newest among equals, which is nearest in the program.
#include "ordering/checks.h"

#include <algorithm>

namespace streamsan::ordering {
namespace {

HazardKind kind_of_hazard(const Access& earlier, const Access& later) {
  if (later.source == AccessSource::Free) return HazardKind::FreeWhileInUse;
  if (later.source == AccessSource::Allocate) return HazardKind::ReuseWhileInUse;
  if (earlier.source == AccessSource::Allocate) return HazardKind::UseBeforeAllocate;
  if (!writes(later)) return HazardKind::ReadAfterWrite;
  return writes(earlier) ? HazardKind::WriteAfterWrite : HazardKind::WriteAfterRead;
}

/// Each part of a kernel is compared with every pointer that kernels were given into its allocation. One that touches
/// more parts than this compares only the last of each mode, which (unless parts of one mode overlap) reaches furthest
/// and so meets what any of them meets: the conflict is found, perhaps with a lesser certainty.
constexpr std::size_t kFewParts = 16;

/// What conflicts with one of the parts conflicts with this, and perhaps more.
AccessMode mode_of_all(std::span<const Part> parts) {
  AccessMode mode = parts.front().touch.mode;
  for (const Part& part : parts.subspan(1)) mode = part.touch.mode == mode ? mode : AccessMode::Write;
  return mode;
}

/// Greater is worse: error, latent, possible; last what known bytes could not make certain.
int badness(Order order, Certainty certainty, const Access& earlier) {
  return (certainty == Certainty::Certain ? 4 : 0) + (order == Order::Unordered ? 2 : 0) +
         (is_at_most_possible(earlier) ? 0 : 1);
}

}  // namespace

Checks::Conflict* Checks::place_of(LaneSlot lane, Order order, Certainty certainty, const Access& earlier) {
  const auto worst =
      std::find_if(conflicts_.begin(), conflicts_.end(), [lane](const Conflict& c) { return c.lane == lane; });
  if (worst == conflicts_.end()) return &conflicts_.emplace_back();
  const int had = badness(worst->order, worst->certainty, worst->earlier);
  const int has = badness(order, certainty, earlier);
  return has < had || (has == had && earlier.op <= worst->earlier.op) ? nullptr : &*worst;
}

void Checks::collect(const Past& past, Shadow::Later later, bool also_inferred, const Actor& actor) {
  past.shadow.for_each_unordered(
      later, also_inferred, actor.clock.documented, lives_.pool,
      [&](LaneSlot lane, Epoch epoch, const Access& remembered, const Meeting& meeting) {
        // Of many rows the hazard names those that meet.
        Access earlier = remembered;
        earlier.range = meeting.first;
        Access access = later.access;
        access.range = meeting.second;
        // What is inferred of one life ends with that life's bytes, of the other with the other's.
        Range bounds = past.allocation.range;
        if (past.reused_by) {
          bounds.begin = std::min(bounds.begin, past.reused_by->range.begin);
          bounds.end = std::max(bounds.end, past.reused_by->range.end);
        }
        std::optional<Certainty> certain = certainty(earlier, access, bounds);
        if (!certain) return;
        const Running* running = nullptr;
        if (actor.overlap && lane == actor.lane) {
          running = find(actor.overlap->running, epoch);
          if (!running) return;
          if (running->how == Running::How::Perhaps) certain = Certainty::Possible;
        }
        const bool certainly = *certain == Certainty::Certain;
        const bool perhaps_signalled = certainly && progress_.signalled.covers(lane, epoch);
        const bool latent = running && running->how == Running::How::Latent;
        const PassedOn passed_on = progress_.passed_on(earlier, access, lane, epoch, actor.clock);
        // Where the bytes leave it open as well, that is what measuring can decide.
        const bool perhaps_passed_on = certainly && passed_on == PassedOn::Perhaps;
        if (perhaps_signalled || perhaps_passed_on) certain = Certainty::Possible;
        const HazardKind kind = past.released    ? HazardKind::ReleaseWhileInUse
                                : past.reused_by ? HazardKind::ReuseWhileInUse
                                                 : kind_of_hazard(earlier, access);
        // A block of a pool of pageable memory.
        const bool staged = is_staged(earlier, past.allocation.kind);
        const bool assumed = actor.clock.assumed.covers(lane, epoch) || passed_on == PassedOn::ByAssumption;
        Order order = assumed ? Order::Latent : Order::Unordered;
        if (progress_.variants) {
          Pair pair{kind, *certain, earlier, access, meeting.common, past.allocation, {}, {}};
          const PairOrder base = progress_.tell_pair(lane, epoch, pair, staged, actor.clock);
          if (base == PairOrder::Ordered) return;
          order = base == PairOrder::Latent ? Order::Latent : Order::Unordered;
        }
        std::optional<Rule> leaned_on;
        if (staged && order == Order::Unordered) {
          order = Order::Latent;
          leaned_on = staged_by(earlier);
        }
        if (latent && order == Order::Unordered) {
          order = Order::Latent;
          leaned_on = running->rule;
        }
        Conflict* place = place_of(lane, order, *certain, earlier);
        if (!place) return;
        *place = {
            lane,  epoch, earlier,      access,          meeting.common, *certain, perhaps_signalled, perhaps_passed_on,
            order, kind,  &past.shadow, past.allocation, past.freed,     leaned_on};
      });
}

/// Only of the modes that the hazard is about: what a kernel writes, too, is not what it reads too early.
CommonBytes Checks::common_bytes_of(const Conflict& conflict, std::span<const Part> parts) {
  runs_.clear();
  for (const auto& [allocation, touch] : parts) {
    if (touch.mode != conflict.later.mode || touch.widened != conflict.later.widened) continue;
    Access access = conflict.later;
    access.range = touch.range;
    conflict.past->add_common({access, touch.rows}, conflict.earlier.op, conflict.earlier.mode, lives_.pool, runs_,
                              kMostRuns);
  }
  return common_bytes(runs_);
}

Explanation Checks::explain_conflict(const Conflict& conflict, const Actor& actor) {
  if (actor.overlap && conflict.lane == actor.lane) {
    const auto& [running, use, front] = *actor.overlap;
    Explanation out{.nearest = NearestEdge::DependentLaunch, .use = use};
    if (front.epoch != conflict.epoch) {
      out.record = front.op;
      out.record_site = front.site;
    }
    return out;
  }
  if (const Lane* in = actor.out_of_order ? progress_.lane(conflict.later.stream) : nullptr;
      in && (in->slot == conflict.lane || in->clock.documented.covers(conflict.lane, conflict.epoch)))
    return {.nearest = NearestEdge::SourceOrder};
  return explain({conflict.lane, conflict.epoch, actor.lane, conflict.earlier, conflict.later,
                  actor.host.clock.documented, progress_.thread(conflict.later.thread).device_wait},
                 progress_.lanes);
}

void Checks::report(const Actor& actor, std::span<const Part> parts) {
  std::sort(conflicts_.begin(), conflicts_.end(),
            [](const Conflict& a, const Conflict& b) { return a.earlier.op < b.earlier.op; });
  for (const Conflict& conflict : conflicts_) {
    Hazard hazard;
    hazard.kind = conflict.kind;
    hazard.certainty = conflict.certainty;
    hazard.perhaps_signalled = conflict.perhaps_signalled;
    hazard.perhaps_passed_on = conflict.perhaps_passed_on;
    hazard.order = conflict.order;
    hazard.leaned_on = conflict.leaned_on;
    if (conflict.order == Order::Latent && !hazard.leaned_on) {
      const std::optional<Rule> rule = progress_.assumptions.covering(conflict.lane, conflict.epoch);
      const TwoClocks& known = progress_.known_if_joined(actor.host);
      const bool known_before = known.assumed.covers(conflict.lane, conflict.epoch);
      hazard.leaned_on = actor.waits_by && (!known_before || !rule) ? actor.waits_by : rule;
    }
    hazard.earlier = conflict.earlier;
    hazard.later = conflict.later;
    // Of the end of an allocation nobody has noted it: it happens now.
    if (hazard.later.moment == Access::kNeverSeen) hazard.later.moment = progress_.moment;
    hazard.overlap = conflict.overlap;
    hazard.allocation = conflict.allocation;
    hazard.freed = conflict.freed;
    if (hazard.earlier.exact && hazard.later.exact && !parts.empty() && sink_.wants_common_bytes(hazard)) {
      hazard.common = common_bytes_of(conflict, parts);
    }
    hazard.explanation = explain_conflict(conflict, actor);
    ++hazards;
    sink_.hazard(hazard);
  }
  conflicts_.clear();
}

[[gnu::always_inline]] Shadow::Known Checks::check_parts(const Access& access, std::span<const Part> parts,
                                                         const Actor& actor) {
  ++accesses;
  Allocation& allocation = *parts.front().allocation;
  if (allocation.shadow.cleared_at_version != actor.host.version) clear_if_over(allocation, actor.host);
  const Shadow::Known known = allocation.shadow.known(mode_of_all(parts), actor.clock.documented);
  if (known == Shadow::Known::Few || allocation.inherits) compare(access, parts, actor);
  return known;
}

[[gnu::always_inline]] void Checks::stay_bounded() {
  if (lives_.shadow.entries > Lives::kMostEntries) [[unlikely]]
    lives_.stay_bounded(progress_.forgettable());
}

void Checks::check(const Access& access, std::span<const Part> parts, const Actor& actor) {
  check_parts(access, parts, actor);
}

/// What every later operation starts after can never race again.
void Checks::clear_if_over(Allocation& allocation, const HostClock& host) {
  if (!progress_.common_host()) return;
  allocation.shadow.cleared_at_version = host.version;
  allocation.shadow.clear_if_covered(host.clock.documented, lives_.pool, lives_.shadow);
}

void Checks::compare(const Access& access, std::span<const Part> parts, const Actor& actor) {
  Allocation& allocation = *parts.front().allocation;
  if (!allocation.shadow.all_before(mode_of_all(parts), actor.clock.documented))
    collect_parts({allocation.shadow, allocation.info}, access, parts, actor);
  if (allocation.inherits) collect_earlier_lives(allocation, access, parts, actor);
  if (!conflicts_.empty()) report(actor, parts);
}

void Checks::collect_parts(const Past& past, Access access, std::span<const Part> parts, const Actor& actor) {
  access.moment = progress_.moment;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Touch& touch = parts[i].touch;
    touch.put_into(access);
    const Touch* next = i + 1 == parts.size() ? nullptr : &parts[i + 1].touch;
    const bool last_of_mode = !next || next->mode != touch.mode || next->widened != touch.widened;
    const bool also_inferred = access.source != AccessSource::Kernel || parts.size() <= kFewParts || last_of_mode;
    collect(past, {access, touch.rows}, also_inferred, actor);
  }
}

void Checks::collect_earlier_lives(Allocation& block, const Access& access, std::span<const Part> parts,
                                   const Actor& actor) {
  const AccessMode mode = mode_of_all(parts);
  lives_.retired.for_each_unfinished_in(block.info.range, actor.clock.documented, [&](const RetiredBlock& life) {
    if (life.shadow.all_before(mode, actor.clock.documented)) return;
    TwoClocks clock = actor.clock;
    clock.join(life.waited);
    collect_parts({.shadow = life.shadow, .allocation = life.info, .freed = life.freed, .reused_by = &block.info},
                  access, parts, {actor.lane, actor.epoch, clock, actor.host, actor.waits_by, actor.overlap});
  });
  // Once is enough: what the pool did wrong is one thing, however often the block is then used.
  for (const Conflict& conflict : conflicts_) {
    const bool sure = conflict.kind == HazardKind::ReuseWhileInUse && conflict.certainty == Certainty::Certain;
    if (sure) block.inherits = false;
  }
}

void Checks::touch(const Access& access, std::span<const Part> parts, const Actor& actor) {
  check_parts(access, parts, actor);
  Allocation& allocation = *parts.front().allocation;
  const Shadow::Now now{actor.lane, actor.epoch, progress_.moment, actor.clock.documented};
  for (const Part& part : parts) {
    allocation.shadow.remember(access, part.touch, now, allocation.info.range, lives_.pool, lives_.shadow);
  }
  stay_bounded();
}

void Checks::touch_pointers(const Access& inferred, std::span<const PointerArgument> pointers, const Actor& actor) {
  const Shadow::Now now{actor.lane, actor.epoch, progress_.moment, actor.clock.documented};
  const bool knows_itself = actor.clock.documented.covers(actor.lane, actor.epoch);
  const Allocation* settled = nullptr;  // all that was done to it before is known, and so is what this does
  Part part;
  auto& [allocation, reach] = part;
  for (const PointerArgument& pointer : pointers) {
    allocation = lives_.holder(pointer.address);
    reach.mode = pointer.mode;
    if (!allocation) [[unlikely]] {
      reach.range = {pointer.address, pointer.address + 1};
      Access stale = inferred;
      reach.put_into(stale);
      touch_freed(stale);
      continue;
    }
    reach.range = {pointer.address, allocation->info.range.end};
    reach.bounded = pointer.reach != 0;
    reach.parted = pointer.parted;
    if (reach.bounded && pointer.reach < reach.range.size()) reach.range.end = reach.range.begin + pointer.reach;
    bool knows_all = true;
    if (allocation == settled) {
      ++accesses;
    } else {
      knows_all = check_parts(inferred, {&part, 1}, actor) == Shadow::Known::All;
      settled = knows_all && knows_itself && !allocation->inherits ? allocation : nullptr;
    }
    allocation->shadow.remember_pointer(inferred, reach, now, knows_all, lives_.pool, lives_.shadow);
    stay_bounded();
  }
}

}  // namespace streamsan::ordering
