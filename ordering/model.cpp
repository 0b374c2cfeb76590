// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// begin(), touch() and learn(), the steps of every call (model_impl.h), and how a hazard is made.
//
// One access may be unordered with thousands of earlier ones, for example of a loop on another stream. That is one
// mistake: for each lane the worst conflict is reported, an error before a latent one before a possible one, and the
// newest among equals, which is nearest in the program.
#include "ordering/model.h"

#include <algorithm>

#include "ordering/model_impl.h"

namespace streamsan::ordering {
namespace {

/// Past this many remembered accesses in all, old ones are dropped.
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 20;

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
  AccessMode mode = parts.front().mode;
  for (const Part& part : parts) mode = part.mode == mode ? mode : AccessMode::Write;
  return mode;
}

void take(Access& access, const Part& part) {
  access.range = part.range;
  access.mode = part.mode;
  access.widened = part.widened;
}

/// Greater is worse: error, latent, possible.
int badness(Order order, Certainty certainty) {
  return (certainty == Certainty::Certain ? 2 : 0) + (order == Order::Unordered ? 1 : 0);
}

}  // namespace

Model::Model(Options options, HazardSink& sink, const WhatIf* what_if)
    : impl_(std::make_unique<Impl>(options, sink, what_if)) {}
Model::~Model() = default;

Statistics Model::statistics() const {
  return {.operations = impl_->last_op,
          .accesses = impl_->accesses,
          .hazards = impl_->hazards,
          .live_allocations = impl_->allocations.live() + impl_->blocks.live(),
          .live_streams = impl_->streams.size(),
          .shadow_entries = impl_->shadow.entries,
          .comparisons = impl_->pool.rows.compared(),
          .forgotten = impl_->shadow.forgotten + impl_->pool.rows.given_up()};
}

Model::Impl::Impl(Options chosen, HazardSink& hazard_sink, const WhatIf* what_if) : options(chosen), sink(hazard_sink) {
  if (!what_if) return;
  variants.emplace(*what_if);
  lanes.keep_retired(Lanes::kMostRetiredOfVariants);
}

HostThread& Model::Impl::thread(ThreadId id) {
  HostThread& thread = threads[static_cast<std::uint64_t>(id)];
  if (thread.host) return thread;
  if (joined() && !hosts.empty()) {
    thread.host = &hosts.front();
    return thread;
  }
  thread.host = &hosts.emplace_back();
  thread.host->lane = lanes.open({}).slot;
  return thread;
}

HostThread& Model::Impl::calling(const Call& call) {
  HostThread& caller = thread(call.thread);
  caller.pending.site = call.site;
  caller.pending.active = false;
  caller.pending.ended.reset();
  caller.pending.second_free.reset();
  return caller;
}

Lane* Model::Impl::lane(StreamId stream) {
  const LaneSlot* slot = streams.find(static_cast<std::uint64_t>(stream));
  return slot ? &lanes[*slot] : nullptr;
}

void Model::Impl::enter(const Call& call, Lane& lane, LegacyRole role) {
  if (variants) {
    enter_among(call, lane, role);
  } else {
    contexts.enter(lane, role);
  }
}

OpId Model::Impl::begin(Call call, Lane& lane, LegacyRole role) {
  enter(call, lane, role);
  const HostClock& known = host(call.thread);
  if (lane.seen_host != &known || lane.seen_host_version != known.version) {
    lane.clock.join(known.clock);
    lane.seen_host = &known;
    lane.seen_host_version = known.version;
  }
  lane.clock.set(lane.slot, ++lane.last);
  if (variants) {
    for (Put* put : variants->recorded_behind(call.site)) {
      if (put->instead.from == lane.stream) put->kept = lane.clock;
    }
  }
  return next_op();
}

void Model::Impl::learn(HostClock& host, const TwoClocks& clocks) {
  if (clocks.within(host.clock)) return;
  host.clock.join(clocks);
  ++host.version;
}

void Model::Impl::promise(HostThread& thread, const CopyRule& rule, const Lane& lane, const TwoClocks& prior) {
  Pending& pending = thread.pending;
  pending.active = rule.assumed != HostEffect::None;
  pending.leaned_on.reset();
  if (!pending.active) return;
  pending.learns.clear();
  pending.learns.assumed = rule.assumed == HostEffect::Complete ? lane.clock.assumed : prior.assumed;
  if (rule.documented == HostEffect::Complete) pending.learns.documented = lane.clock.documented;
  if (rule.documented == HostEffect::Prior) pending.learns.documented = prior.documented;
  if (rule.leans()) pending.leaned_on = rule.assumed_rule;
}

Model::Impl::Conflict* Model::Impl::place_of(LaneSlot lane, Order order, Certainty certainty, OpId earlier) {
  const auto worst =
      std::find_if(conflicts_.begin(), conflicts_.end(), [lane](const Conflict& c) { return c.lane == lane; });
  if (worst == conflicts_.end()) return &conflicts_.emplace_back();
  const int had = badness(worst->order, worst->certainty);
  const int has = badness(order, certainty);
  return has < had || (has == had && earlier <= worst->earlier.op) ? nullptr : &*worst;
}

void Model::Impl::collect(const Past& past, Shadow::Later later, bool also_inferred, const Actor& actor) {
  past.shadow.for_each_unordered(
      later, also_inferred, actor.clock.documented, pool,
      [&](LaneSlot lane, Epoch epoch, const Access& remembered, const Meeting& meeting) {
        // Of many rows the hazard names those that meet.
        Access earlier = remembered;
        earlier.range = meeting.first;
        Access access = later.access;
        access.range = meeting.second;
        // An inferred access ends where the block of its own life ends.
        Range bounds = past.allocation.range;
        if (past.reused_by) {
          bounds.begin = std::min(bounds.begin, past.reused_by->range.begin);
          bounds.end = std::max(bounds.end, past.reused_by->range.end);
        }
        std::optional<Certainty> certain = certainty(earlier, access, bounds);
        if (!certain) return;
        const bool perhaps_told = *certain == Certainty::Certain && told.covers(lane, epoch);
        if (perhaps_told) certain = Certainty::Possible;
        const HazardKind kind = past.released    ? HazardKind::ReleaseWhileInUse
                                : past.reused_by ? HazardKind::ReuseWhileInUse
                                                 : kind_of_hazard(earlier, access);
        // A block of a pool of pageable memory.
        const bool staged = past.allocation.kind == MemoryKind::Pageable && earlier.source == AccessSource::Copy;
        Order order = actor.clock.assumed.covers(lane, epoch) ? Order::Latent : Order::Unordered;
        if (variants) {
          Pair pair{kind, *certain, earlier, access, meeting.common, past.allocation, {}, {}};
          const PairOrder base = tell_pair(lane, epoch, pair, staged, actor.clock);
          if (base == PairOrder::Ordered) return;
          order = base == PairOrder::Latent ? Order::Latent : Order::Unordered;
        }
        std::optional<Rule> leaned_on;
        if (staged && order == Order::Unordered) {
          order = Order::Latent;
          leaned_on = staged_by(earlier);
        }
        Conflict* place = place_of(lane, order, *certain, earlier.op);
        if (!place) return;
        *place = {lane,         epoch, earlier, access,          meeting.common, *certain,
                  perhaps_told, order, kind,    past.allocation, past.freed,     leaned_on};
      });
}

void Model::Impl::report(const Actor& actor) {
  std::sort(conflicts_.begin(), conflicts_.end(),
            [](const Conflict& a, const Conflict& b) { return a.earlier.op < b.earlier.op; });
  for (const Conflict& conflict : conflicts_) {
    Hazard hazard;
    hazard.kind = conflict.kind;
    hazard.certainty = conflict.certainty;
    hazard.perhaps_told = conflict.perhaps_told;
    hazard.order = conflict.order;
    hazard.leaned_on = conflict.leaned_on;
    if (conflict.order == Order::Latent && !hazard.leaned_on) {
      const std::optional<Rule> rule = assumptions.covering(conflict.lane, conflict.epoch);
      const bool known_before = actor.host.clock.assumed.covers(conflict.lane, conflict.epoch);
      hazard.leaned_on = actor.waits_by && !known_before ? actor.waits_by : rule;
    }
    hazard.earlier = conflict.earlier;
    hazard.later = conflict.later;
    hazard.overlap = conflict.overlap;
    hazard.allocation = conflict.allocation;
    hazard.freed = conflict.freed;
    hazard.explanation = explain({conflict.lane, conflict.epoch, actor.lane, conflict.earlier, conflict.later,
                                  actor.host.clock.documented, thread(conflict.later.thread).device_wait},
                                 lanes);
    ++hazards;
    sink.hazard(hazard);
  }
  conflicts_.clear();
}

void Model::Impl::check(Access access, std::span<const Part> parts, const Actor& actor) {
  ++accesses;
  Allocation& allocation = *parts.front().allocation;
  Shadow& past = allocation.shadow;
  // Joined threads start every later operation after what the host knows now, so what it covers can never race again.
  if (joined() && past.cleared_at_version != actor.host.version) {
    past.cleared_at_version = actor.host.version;
    past.clear_if_covered(actor.host.clock.documented, pool, shadow);
  }
  if (!past.all_before(mode_of_all(parts), actor.clock.documented)) {
    collect_parts({past, allocation.info}, access, parts, actor);
  }
  if (allocation.inherits) collect_earlier_lives(allocation, access, parts, actor);
  if (!conflicts_.empty()) report(actor);
}

void Model::Impl::collect_parts(const Past& past, Access& access, std::span<const Part> parts, const Actor& actor) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    take(access, parts[i]);
    const bool last_of_mode =
        i + 1 == parts.size() || parts[i + 1].mode != parts[i].mode || parts[i + 1].widened != parts[i].widened;
    const bool also_inferred = access.source != AccessSource::Kernel || parts.size() <= kFewParts || last_of_mode;
    collect(past, {access, parts[i].rows}, also_inferred, actor);
  }
}

void Model::Impl::collect_earlier_lives(Allocation& block, Access& access, std::span<const Part> parts,
                                        const Actor& actor) {
  const AccessMode mode = mode_of_all(parts);
  retired.for_each([&](const RetiredBlock& life) {
    if (!life.info.range.overlaps(block.info.range) || life.shadow.all_before(mode, actor.clock.documented)) return;
    TwoClocks clock = actor.clock;
    clock.join(life.waited);
    collect_parts({.shadow = life.shadow, .allocation = life.info, .freed = life.freed, .reused_by = &block.info},
                  access, parts, {actor.lane, actor.epoch, clock, actor.host, actor.waits_by});
  });
  // Report it once: the pool made one mistake, however often the block is then used.
  for (const Conflict& conflict : conflicts_) {
    const bool sure = conflict.kind == HazardKind::ReuseWhileInUse && conflict.certainty == Certainty::Certain;
    if (sure) block.inherits = false;
  }
}

void Model::Impl::touch(Access access, std::span<const Part> parts, const Actor& actor) {
  check(access, parts, actor);
  Allocation& allocation = *parts.front().allocation;
  for (const Part& part : parts) {
    take(access, part);
    allocation.shadow.remember({actor.lane, actor.epoch, access, part.rows}, allocation.info.range,
                               actor.clock.documented, pool, shadow);
  }
  if (shadow.entries > kMostEntries) stay_bounded();
}

void Model::Impl::stay_bounded() {
  const auto for_each_shadow = [&](auto visit) {
    allocations.for_each([&](Allocation& each) { visit(each.shadow); });
    blocks.for_each([&](Allocation& each) { visit(each.shadow); });
    retired.for_each([&](RetiredBlock& each) { visit(each.shadow); });
  };
  if (joined() && !hosts.empty()) {
    for_each_shadow([&](Shadow& s) { s.forget_covered(hosts.front().clock.documented, pool, shadow); });
  }
  if (shadow.entries <= kMostEntries / 4 * 3) return;
  for_each_shadow([&](Shadow& s) { s.forget_older_half(pool, shadow); });
}

}  // namespace streamsan::ordering
