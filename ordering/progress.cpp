// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// begin() and learn(), which every call is made of, and the opening of streams and threads. What variants of a what-if
// need besides is in progress_what_if.cpp.
#include "ordering/progress.h"

namespace streamsan::ordering {

Progress::Progress(Options chosen, const WhatIf* what_if) : options(chosen) {
  if (!what_if) return;
  variants.emplace(*what_if);
  lanes.keep_retired(Lanes::kMostRetiredOfVariants);
}

void Progress::meet_caller(ThreadId id) {
  caller_ = &threads[static_cast<std::uint64_t>(id)];
  caller_id_ = id;
  if (!caller_->host) caller_->host = joined() && !hosts.empty() ? &hosts.front() : &host_for_new_thread();
}

HostThread& Progress::calling(const Call& call) {
  HostThread& caller = thread(call.thread);
  caller.pending.site = call.site;
  caller.pending.active = false;
  caller.pending.ended.reset();
  caller.pending.second_free.reset();
  caller.pending.device_wait.reset();
  caller.pending.event_wait.reset();
  return caller;
}

void Progress::enter(const Call& call, Lane& lane, LegacyRole role) {
  if (variants) {
    enter_among(call, lane, role);
  } else {
    contexts.enter(lane, role);
  }
}

OpId Progress::begin(Call call, Lane& lane, LegacyRole role) {
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
  lane.work = {next_op(), call.site};
  return lane.work.op;
}

OpId Progress::begin_event_call(const Call& call, Lane& lane, LegacyRole role) {
  const Work work = lane.work;
  const OpId op = begin(call, lane, role);
  lane.work = work;
  return op;
}

bool Progress::joined_more(const Lane& lane, const TwoClocks& before, const HostClock& host) {
  const auto more = [&lane](const VectorClock& now, const VectorClock& then, const VectorClock& known) {
    for (LaneSlot slot = 0; slot < now.size(); ++slot) {
      if (slot != lane.slot && now[slot] > then[slot] && now[slot] > known[slot]) return true;
    }
    return false;
  };
  return more(lane.clock.documented, before.documented, host.clock.documented) ||
         more(lane.clock.assumed, before.assumed, host.clock.assumed);
}

OpId Progress::begin_record(const Call& call, Lane& lane, EventTiming timing) {
  const bool behind_kernel = timing == EventTiming::Off && lane.chain.is_in_front(lane.last);
  bool joins_more = false;
  OpId op{};
  if (behind_kernel && contexts.has_news_for(lane)) {
    const TwoClocks before = lane.clock;
    op = begin_event_call(call, lane, LegacyRole::Action);
    joins_more = joined_more(lane, before, host(call.thread));
  } else {
    op = begin_event_call(call, lane, LegacyRole::Action);
  }
  const HostClock& knows = host(call.thread);
  if (behind_kernel && !joins_more)
    lane.chain.recorded(lane.last, knows.clock.documented[lane.slot], knows.clock.assumed[lane.slot]);
  return op;
}

void Progress::learn(HostClock& host, const TwoClocks& clocks) {
  if (clocks.within(host.clock)) return;
  host.clock.join(clocks);
  ++host.version;
  if (!sees_threads()) return;
  if (hosts.size() > 1) everybody_.join(clocks);
  host.past.note(moment, host.clock);
}

void Progress::promise(HostThread& thread, const CopyRule& rule, const Lane& lane, const TwoClocks& prior) {
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

OpId Progress::begin_between(Call call, Lane& lane, std::span<Lane* const> peers) {
  for (Lane* peer : peers) enter(call, *peer, LegacyRole::Action);
  const OpId op = begin(call, lane, LegacyRole::Action);
  const Among among = variants ? variants->makes(call.site, Effect::Barrier) : Among{};
  const VectorClock before = among.others.empty() ? VectorClock{} : lane.clock.assumed;
  for (const Lane* peer : peers) lane.clock.join(peer->clock, among);
  lane.history.last_between = op;
  if (variants) tell_barrier(lane, before, among, op);
  // Their blocking streams join this as the barrier of their own context.
  for (Lane* peer : peers) {
    peer->clock.join(lane.clock, among);
    peer->chain.plain({});  // nothing that follows is right behind a kernel
  }
  return op;
}

StreamId Progress::open_stream(ContextId context, StreamKind kind, ThreadId thread_id) {
  const std::uint32_t index = contexts.index_of(context);
  const HostClock* common = common_host();
  const VectorClock* over = forgettable();
  Lane& lane = lanes.open(common ? common->clock.documented : nothing.documented, over ? *over : nothing.documented);
  lane.is_stream = true;
  lane.kind = kind;
  lane.context = index;
  lane.thread = thread_id;
  lane.stream = StreamId{++last_stream};
  streams[last_stream] = lane.slot;
  if (kind == StreamKind::Legacy) contexts[index].legacy = lane.slot;
  return lane.stream;
}

Lane& Progress::recorder_of(ContextId context) {
  const std::uint32_t index = contexts.index_of(context);
  if (contexts[index].recorder == Context::kNone) {
    const StreamId made = open_stream(context, StreamKind::NonBlocking, ThreadId{});
    contexts[index].recorder = lane(made)->slot;
  }
  return lanes[contexts[index].recorder];
}

std::optional<Point> Progress::point(Call call, std::optional<StreamId> stream) {
  const HostClock& known = host(call.thread);
  if (!stream) return Point{next_op(), known.lane, known.clock};
  Lane* in = lane(*stream);
  if (!in) return std::nullopt;
  const OpId op = begin(call, *in, LegacyRole::NoAction);
  return Point{op, in->slot, in->clock};
}

}  // namespace streamsan::ordering
