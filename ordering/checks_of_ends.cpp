// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Is everything before the end of an allocation, the return of a block, its next life, the free of borrowed memory?
#include "ordering/checks.h"

namespace streamsan::ordering {

void Checks::check_end(Allocation& allocation, const Access& free, const Actor& actor) {
  const Range whole = allocation.info.range;
  const Part all{&allocation, {whole, AccessMode::Write}};
  check(free, {&all, 1}, actor);
  if (lives_.blocks.live() > 0) {
    for (Allocation* block = lives_.blocks.find_first_ending_after(whole.begin);
         block && block->info.range.overlaps(whole);
         block = lives_.blocks.find_first_ending_after(block->info.range.end)) {
      const Part part{block, {block->info.range, AccessMode::Write}};
      check(free, {&part, 1}, actor);
    }
  }
  if (lives_.retired.empty()) return;
  Access of_all = free;
  of_all.range = whole;
  lives_.retired.for_each_unfinished_in(whole, actor.clock.documented, [&](const RetiredBlock& life) {
    collect_retired(life, allocation.info, of_all, actor);
  });
  report(actor);
}

void Checks::check_release(const Allocation& block, const TwoClocks& waited, const Access& access, const Actor& actor) {
  if (block.shadow.all_before(AccessMode::Write, actor.clock.documented)) return;
  TwoClocks clock = actor.clock;
  clock.join(waited);
  collect({.shadow = block.shadow, .allocation = block.info, .released = true}, {access}, true,
          {actor.lane, actor.epoch, clock, actor.host});
  report(actor);
}

void Checks::collect_retired(const RetiredBlock& life, const AllocationInfo& named, const Access& access,
                             const Actor& actor) {
  TwoClocks clock = actor.clock;
  clock.join(life.waited);
  collect({.shadow = life.shadow, .allocation = named, .freed = life.freed}, {access}, true,
          {actor.lane, actor.epoch, clock, actor.host, actor.waits_by});
}

void Checks::check_reuse(const Access& access, const Actor& actor) {
  lives_.retired.for_each_unfinished_in(access.range, actor.clock.documented, [&](const RetiredBlock& life) {
    collect_retired(life, life.info, access, actor);
  });
  report(actor);
}

void Checks::check_loans(const Access& access, const Actor& actor) {
  lives_.loans.take(access.range, [&](const Loan& loan, Range common) {
    const LaneSlot lane = loan.copy.lane;
    const Epoch epoch = loan.copy.epoch;
    const Access& copy = loan.copy.access;
    if (actor.clock.documented.covers(lane, epoch)) return;
    const bool certainly = !copy.conditional;
    const bool staged = is_staged(copy, MemoryKind::Pageable);
    const bool perhaps_signalled = certainly && progress_.signalled.covers(lane, epoch);
    const PassedOn passed_on = progress_.passed_on(copy, access, lane, epoch, actor.clock);
    const bool perhaps_passed_on = certainly && passed_on == PassedOn::Perhaps;
    const bool sure = certainly && !perhaps_signalled && !perhaps_passed_on;
    const Certainty certainty = sure ? Certainty::Certain : Certainty::Possible;
    if (progress_.variants) {
      const AllocationInfo borrowed{.range = copy.range, .kind = MemoryKind::Pageable};
      Pair pair{HazardKind::FreeWhileInUse, certainty, copy, access, common, borrowed, {}, {}};
      if (progress_.tell_pair(lane, epoch, pair, staged, actor.clock) == PairOrder::Ordered) return;
    }
    const bool latent = staged || actor.clock.assumed.covers(lane, epoch) || passed_on == PassedOn::ByAssumption;
    const Order order = latent ? Order::Latent : Order::Unordered;
    Conflict* place = place_of(lane, order, certainty, copy);
    if (!place) return;
    *place = {.lane = lane,
              .epoch = epoch,
              .earlier = copy,
              .later = access,
              .overlap = common,
              .certainty = certainty,
              .perhaps_signalled = perhaps_signalled,
              .perhaps_passed_on = perhaps_passed_on,
              .order = order,
              .kind = HazardKind::FreeWhileInUse,
              .allocation = {.range = copy.range, .kind = MemoryKind::Pageable},
              .leaned_on = staged ? std::optional(staged_by(copy)) : std::nullopt};
  });
  report(actor);
}

}  // namespace streamsan::ordering
