// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lazy legacy barrier; contexts.h has the specification and the argument.
#include "ordering/contexts.h"

namespace streamsan::ordering {

std::uint32_t Contexts::index_of(ContextId id) {
  // Indices are stored from 1, so that 0 marks a context met for the first time.
  std::uint32_t& index = indices_[static_cast<std::uint64_t>(id)];
  if (index == 0) {
    contexts_.emplace_back().id = id;
    index = static_cast<std::uint32_t>(contexts_.size());
  }
  return index - 1;
}

void Contexts::wait(std::uint32_t index, const TwoClocks& captured) {
  Context& context = contexts_[index];
  context.waited_for.join(captured);
  ++context.waits;
  context.all.add(captured);
}

void Contexts::join_waits(Lane& lane, const Context& context) {
  if (lane.seen_waits == context.waits) return;
  lane.seen_waits = context.waits;
  lane.clock.join(context.waited_for);
}

void Contexts::enter(Lane& lane, LegacyRole role) {
  Context& context = contexts_[lane.context];
  switch (lane.kind) {
    case StreamKind::Legacy:
      if (role == LegacyRole::Action) {
        const TwoClocks& work = context.blocking.gather(lanes_, &Lane::behind_blocking);
        if (context.joined_blocking_version != context.blocking.version()) {
          lane.clock.join(work);
          context.joined_blocking_version = context.blocking.version();
        }
        ++context.barriers;
        context.barrier_put_aside = false;
      } else if (!context.barrier_put_aside) {
        context.barrier = lane.clock;
        context.barrier_put_aside = true;
      }
      break;
    case StreamKind::PerThread:
    case StreamKind::Blocking:
      if (lane.seen_barrier != context.barriers) {
        lane.clock.join(context.barrier_put_aside ? context.barrier : lanes_[context.legacy].clock);
        lane.seen_barrier = context.barriers;
      }
      break;
    case StreamKind::NonBlocking:
      break;
  }
  join_waits(lane, context);
  changed(lane);
}

void Contexts::add_to_barrier(Context& context) {
  if (!context.barrier_pending) return;
  context.barrier_pending = false;
  context.barrier.join(lanes_[context.legacy].clock, {.base = context.made_in_base, .others = context.made_by_others});
}

void Contexts::enter(Lane& lane, LegacyRole role, const Among& among) {
  Context& context = contexts_[lane.context];
  add_to_barrier(context);
  if (lane.kind == StreamKind::Legacy && role == LegacyRole::Action) {
    // Also if nothing was gathered since: some streams may not have joined what was gathered before.
    lane.clock.join(context.blocking.gather(lanes_, &Lane::behind_blocking), among);
    ++context.barriers;
    context.barrier_pending = true;
    context.made_in_base = among.base;
    context.made_by_others.assign(among.others.begin(), among.others.end());
  } else if (lane.kind == StreamKind::PerThread || lane.kind == StreamKind::Blocking) {
    if (lane.seen_barrier != context.barriers) {
      lane.clock.join(context.barrier);
      lane.seen_barrier = context.barriers;
    }
  }
  join_waits(lane, context);
  changed(lane);
}

bool Contexts::has_news_for(const Lane& lane) const {
  const Context& context = contexts_[lane.context];
  if (lane.seen_waits != context.waits) return true;
  switch (lane.kind) {
    case StreamKind::Legacy:
      return context.blocking.is_behind() || context.joined_blocking_version != context.blocking.version();
    case StreamKind::PerThread:
    case StreamKind::Blocking:
      return lane.seen_barrier != context.barriers;
    case StreamKind::NonBlocking:
      return false;
  }
  return true;
}

void Contexts::note_change(Lane& lane) {
  Context& context = contexts_[lane.context];
  const bool blocking = lane.kind == StreamKind::PerThread || lane.kind == StreamKind::Blocking;
  if (blocking && !lane.behind_blocking) {
    lane.behind_blocking = true;
    context.blocking.add(lane.slot);
  }
  if (!lane.behind_all) {
    lane.behind_all = true;
    context.all.add(lane.slot);
  }
}

void Contexts::leave(Lane& lane) {
  Context& context = contexts_[lane.context];
  context.blocking.gather(lanes_, &Lane::behind_blocking);
  context.all.gather(lanes_, &Lane::behind_all);
}

void Contexts::join_everything(Lane& lane) {
  for (std::uint32_t index = 0; index < contexts_.size(); ++index) lane.clock.join(everything(index));
  // Gathering used the lane's clock from before the join, and took the lane off the list.
  lane.behind_all = true;
  contexts_[lane.context].all.add(lane.slot);
}

TwoClocks Contexts::covered_by(const Lane& lane) {
  TwoClocks covered = lane.clock;
  covered.join(contexts_[lane.context].waited_for);
  if (lane.kind == StreamKind::Legacy) {
    covered.join(contexts_[lane.context].blocking.gather(lanes_, &Lane::behind_blocking));
  }
  return covered;
}

}  // namespace streamsan::ordering
