// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a what-if beside clocks with variants: the order that is cut or added, the pairs reported, and the
// exposures. what_if.h says what they mean.
//
// AN EXPOSURE is reported if the base learns by a call that a marked operation is complete, the variant lacks that
// call, and the variant does not know it by the replacement either. If the base knew it before, the host could already
// have gone on, and the exposure was reported for that earlier call; so every mark is checked once. The two clocks are
// checked separately: a wait may be the first to guarantee what an earlier call only does with today's driver
// (R-CPY-14), and the host may rely on no more than the guarantee.
#include <algorithm>

#include "ordering/progress.h"

namespace streamsan::ordering {
namespace {

/// Does the base learn anything?
bool gains(const VectorClock& known, const VectorClock& learns) {
  for (LaneSlot lane = 0; lane < learns.size(); ++lane) {
    if (learns[lane] > known[lane]) return true;
  }
  return false;
}

bool may_touch_anything(Exposure::Why why) {
  return why == Exposure::Why::Kernel || why == Exposure::Why::Graph || why == Exposure::Why::HostFunction;
}

PairOrder order_of(bool documented, bool assumed, bool staged) {
  if (documented) return PairOrder::Ordered;
  return assumed || staged ? PairOrder::Latent : PairOrder::Unordered;
}

}  // namespace

void Progress::expose(Exposure exposure, VariantId variant) {
  exposure.variant = variant;
  variants->sink().exposed(exposure);
}

void Progress::enter_among(const Call& call, Lane& lane, LegacyRole role) {
  make_moved_waits(call);
  if (lane.kind != StreamKind::Legacy || role != LegacyRole::Action) return contexts.enter(lane, role, Among{});
  const Among among = variants->makes(call.site, Effect::Barrier);
  const VectorClock before = among.others.empty() ? VectorClock{} : lane.clock.assumed;
  contexts.enter(lane, role, among);
  tell_barrier(lane, before, among, OpId{last_op + 1});
}

void Progress::tell_barrier(const Lane& lane, const VectorClock& before, const Among& among, OpId op) {
  if (among.others.empty() || !among.base || !gains(before, lane.clock.assumed)) return;
  for (const VariantId variant : among.others) variants->sink().mattered(variant, op);
  // What the legacy stream is after now may have touched anything.
  const VectorClock& now = lane.clock.assumed;
  for (LaneSlot slot = 0; slot < now.size(); ++slot) {
    lanes[slot].marks.for_each_in(before[slot], now[slot], [&](const HostMarks::Mark& mark) {
      if (!may_touch_anything(mark.exposure.why)) return;
      for (const VariantId variant : among.others) {
        if (now.in(variant, slot) < mark.epoch) expose(mark.exposure, variant);
      }
    });
  }
}

void Progress::make_moved_waits(const Call& call) {
  for (Put* put : variants->moved_to(call.site)) {
    HostClock& knows = host(call.thread);
    knows.clock.join(put->kept, put->among());
    ++knows.version;
  }
}

void Progress::apply(Put& put, HostClock& host, const TwoClocks& learns) {
  Lane* from = lane(put.instead.from);
  switch (put.instead.kind) {
    case Instead::Kind::EventWait:
      if (Lane* to = lane(put.instead.to); from && to) {
        to->clock.join(from->clock, put.among());
        contexts.changed(*to);
      }
      return;
    case Instead::Kind::StreamSync:
      if (from) host.clock.join(contexts.covered_by(*from), put.among());
      break;
    case Instead::Kind::EventSync:
      host.clock.join(put.kept, put.among());
      break;
    case Instead::Kind::Move:
      put.kept.join(learns);
      return;
  }
  ++host.version;
}

bool Progress::knew(const HostClock& host, const TwoClocks& clocks) const {
  return variants && !gains(host.clock.documented, clocks.documented) && !gains(host.clock.assumed, clocks.assumed);
}

void Progress::learn_at(SiteId site, HostClock& host, const TwoClocks& learns) {
  const Among among = variants->makes(site, Effect::Wait);
  const std::span<Put* const> puts = variants->put_at(site);
  if (among.all() && puts.empty()) return learn(host, learns);
  const TwoClocks before = host.clock;
  if (!learns.within(host.clock)) {
    host.clock.join(learns, among);
    ++host.version;
  }
  for (Put* put : puts) apply(*put, host, learns);
  const TwoClocks& known = host.clock;
  const bool news = gains(before.assumed, known.assumed) || gains(before.documented, known.documented);
  if (!among.base || among.others.empty() || !news) return;
  for (const VariantId variant : among.others) variants->sink().mattered(variant, kNoOp);
  const auto lost = [](const VectorClock& earlier, const VectorClock& now, VariantId variant, LaneSlot slot,
                       Epoch epoch) {
    return epoch > earlier[slot] && epoch <= now[slot] && now.in(variant, slot) < epoch;
  };
  for (LaneSlot slot = 0; slot < known.assumed.size(); ++slot) {
    HostMarks& marks = lanes[slot].marks;
    marks.for_each_in(before.documented[slot], known.assumed[slot], [&](const HostMarks::Mark& mark) {
      for (const VariantId variant : among.others) {
        const bool assumed = lost(before.assumed, known.assumed, variant, slot, mark.epoch);
        if (!assumed && !lost(before.documented, known.documented, variant, slot, mark.epoch)) continue;
        Exposure exposure = mark.exposure;
        exposure.also_assumed = assumed;
        expose(exposure, variant);
      }
    });
    if (joined()) marks.forget(known.documented[slot]);
  }
}

PairOrder Progress::tell_pair(LaneSlot lane, Epoch epoch, Pair& pair, bool staged, const TwoClocks& clock) {
  const VectorClock& documented = clock.documented;
  const VectorClock& assumed = clock.assumed;
  pair.base = order_of(documented[lane] >= epoch, assumed[lane] >= epoch, staged);
  in_variants_.clear();
  const auto consider = [&](const Deviation& d) {
    const VariantId variant = d.variant;
    if (!in_variants_.empty() && std::any_of(in_variants_.begin(), in_variants_.end(),
                                             [variant](const InVariant& v) { return v.variant == variant; })) {
      return;
    }
    const PairOrder order = order_of(documented.in(variant, lane) >= epoch, assumed.in(variant, lane) >= epoch, staged);
    if (order != pair.base && !variants->sink().settled(variant)) in_variants_.push_back({variant, order});
  };
  for (const Deviation& deviation : documented.deviations(lane)) consider(deviation);
  for (const Deviation& deviation : assumed.deviations(lane)) consider(deviation);
  pair.variants = in_variants_;
  if (pair.base != PairOrder::Ordered || !in_variants_.empty()) variants->sink().pair(pair);
  return pair.base;
}

void Progress::mark(Lane& lane, OpId op, SiteId site, Exposure::Why why, Range range, MemoryKind memory) {
  lane.marks.add(lane.last,
                 {.why = why, .op = op, .site = site, .stream = lane.stream, .range = range, .memory = memory});
}

void Progress::expose_source(const Lane& lane, OpId op, SiteId site, Range source) {
  for (const VariantId variant : variants->makes(site, Effect::Wait).others) {
    expose({.why = Exposure::Why::HostWrite, .op = op, .site = site, .stream = lane.stream, .range = source}, variant);
  }
}

void Progress::mark_unbounded(Lane& lane, OpId op, SiteId site, Exposure::Why why) {
  mark(lane, op, site, why);
  for (const VectorClock* clock : {&lane.clock.documented, &lane.clock.assumed}) {
    for (LaneSlot slot = 0; slot < clock->size(); ++slot) {
      if (slot == lane.slot) continue;
      for (const Deviation& deviation : clock->deviations(slot)) {
        if (deviation.epoch >= (*clock)[slot] || variants->sink().settled(deviation.variant)) continue;
        expose({.why = why, .op = op, .site = site, .stream = lane.stream, .comes_after = true, .range = {}},
               deviation.variant);
      }
    }
  }
}

void Progress::mark_work(Lane& lane, OpId op, SiteId site) {
  lane.marks.last_work = {lane.last, {.why = Exposure::Why::End, .op = op, .site = site, .stream = lane.stream}};
}

void Progress::mark_access(Lane& lane, OpId op, SiteId site, Range range, AccessMode mode, MemoryKind memory) {
  if (range.empty() || range.begin == 0) return;
  // One byte: a pointer of a kernel. Where it leads to nothing it may lead to memory of the host's all the same, since
  // there are devices that reach all of it; but not if it is doubtful that it is one.
  const bool known = memory != MemoryKind::Pageable || range.size() > 1 || mode != AccessMode::Doubtful;
  if (!known || is_on_device(memory)) return;
  mark(lane, op, site, mode == AccessMode::Read ? Exposure::Why::HostWrite : Exposure::Why::HostRead, range, memory);
}

void Progress::end_of_trace() {
  if (!variants) return;
  const auto known_to_any = [&](LaneSlot lane, VariantId variant) {
    Epoch known = 0;
    for (const HostClock& host : hosts) known = std::max(known, host.clock.assumed.in(variant, lane));
    return known;
  };
  std::vector<std::pair<VariantId, LaneSlot>> exposed;
  for (const HostClock& host : hosts) {
    for (LaneSlot lane = 0; lane < host.clock.assumed.size(); ++lane) {
      const HostMarks::Mark& work = lanes[lane].marks.last_work;
      if (work.epoch == 0 || work.epoch > known_to_any(lane, kBase)) continue;
      for (const Deviation& deviation : host.clock.assumed.deviations(lane)) {
        const std::pair who{deviation.variant, lane};
        if (known_to_any(lane, deviation.variant) >= work.epoch) continue;
        if (std::find(exposed.begin(), exposed.end(), who) != exposed.end()) continue;
        exposed.push_back(who);
        expose(work.exposure, deviation.variant);
      }
    }
  }
}

}  // namespace streamsan::ordering
