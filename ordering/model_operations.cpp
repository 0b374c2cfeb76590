// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of streams: kernels, copies, fills and those without modelled accesses.
#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "ordering/model_impl.h"

namespace streamsan::ordering {
namespace {

/// R-CPY-40: the legacy streams of the other devices that a copy is an action of; where a side lies on a device that is
/// not known, of all devices.
std::vector<Lane*> peers_of(Progress& progress, Lives& lives, const Lane& lane, Address dst, Address src) {
  if (lane.kind != StreamKind::Legacy || progress.contexts.size() < 2) return {};
  std::vector<std::uint32_t> between;
  bool known = true;
  for (const Address address : {dst, src}) {
    // An array that is not known is taken to be where the other side is. What is not there, or not of a kind a device
    // holds, is the host's.
    const Allocation* allocation = address ? lives.allocations.find(address) : nullptr;
    if (!allocation || !(is_on_device(allocation->info.kind) || allocation->info.kind == MemoryKind::Managed))
      return {};
    known &= allocation->info.context.has_value();
    if (known) between.push_back(progress.contexts.index_of(*allocation->info.context));
  }
  // Within one device, in its own stream. In that of another device it is a barrier for both (measured).
  if (known && between[0] == between[1] && between[0] == lane.context) return {};
  if (!known) {  // on any device
    between.resize(progress.contexts.size());
    std::iota(between.begin(), between.end(), 0u);
  }
  std::vector<Lane*> peers;
  for (const std::uint32_t index : between) {
    if (index == lane.context) continue;
    if (progress.contexts[index].legacy == Context::kNone)
      progress.open_stream(progress.contexts[index].id, StreamKind::Legacy, ThreadId{});
    peers.push_back(&progress.lanes[progress.contexts[index].legacy]);
  }
  return peers;
}

/// The stream's clock without what may still be running.
TwoClocks clock_behind(std::span<const Running> running, const Lane& lane, const HostClock& host) {
  TwoClocks clock = lane.clock;
  const Epoch complete = running.front().epoch - 1;
  clock.documented.set(lane.slot, std::max(complete, host.clock.documented[lane.slot]));
  clock.assumed.set(lane.slot, std::max(complete, lane.chain.assumed()));
  return clock;
}

struct Operation {
  Lane& lane;
  OpId op{};
  SiteId site{};
};

/// Marks it for the variants of a what-if.
void mark_access(Progress& progress, Lives& lives, const Operation& operation, Range range, AccessMode mode) {
  const auto& [lane, op, site] = operation;
  progress.mark_access(lane, op, site, range, mode, lives.kind_at(range.begin));
}

}  // namespace

void Model::Impl::touch_bytes(const Access& inferred, bool learned, const Actor& actor,
                              std::span<const KernelBytes> bytes) {
  Access access = inferred;
  access.exact = true;
  access.learned = learned;
  const auto is_special = [&](const KernelBytes& each) { return each.signals || (learned && each.sure); };
  if (std::none_of(bytes.begin(), bytes.end(), is_special)) return pieces.touch_known(bytes, access, actor);
  for (const bool sure : {true, false}) {
    for (const bool signals : {false, true}) {
      std::vector<KernelBytes> some;
      std::copy_if(bytes.begin(), bytes.end(), std::back_inserter(some),
                   [&](const KernelBytes& each) { return (each.sure || !learned) == sure && each.signals == signals; });
      access.learned = !sure;
      access.signals = signals;
      pieces.touch_known(some, access, actor);
    }
  }
}

void Model::Impl::touch_dependent(const Access& access, const Actor& actor, const Dependent& dependent,
                                  std::span<const PointerArgument> pointers, std::span<const KernelBytes> bytes) {
  const auto& [lane, shape, front] = dependent;
  const Dependence& dependence = shape.dependence;
  for (const bool early : {true, false}) {
    std::vector<PointerArgument> some_pointers;
    std::vector<KernelBytes> some_bytes;
    // What does not wait is early all of it.
    const auto counts = [&](const auto& each) { return (each.early || !dependence.waits) == early; };
    std::copy_if(pointers.begin(), pointers.end(), std::back_inserter(some_pointers), counts);
    std::copy_if(bytes.begin(), bytes.end(), std::back_inserter(some_bytes), counts);
    const std::span<const Running> running = early ? lane.chain.began() : lane.chain.ended();
    if (running.empty()) {
      touch_kernel(access, shape.learned, actor, some_pointers, some_bytes);
      continue;
    }
    const DependentUse use = !dependence.waits ? DependentUse::NeverWaits
                             : early           ? DependentUse::BeforeWait
                                               : DependentUse::AfterWait;
    const Overlap overlap{running, use, front};
    const TwoClocks clock = clock_behind(running, lane, actor.host);
    touch_kernel(access, shape.learned, {actor.lane, actor.epoch, clock, actor.host, actor.waits_by, &overlap},
                 some_pointers, some_bytes);
  }
}

void Model::Impl::lend(const Footprint& side, Access access, const Actor& actor) {
  access.range = hull(side);
  access.moment = progress.moment;
  lives.loans.add({side, {actor.lane, actor.epoch, access}});
}

OpId Model::launch(Call call, StreamId stream, const LaunchShape& shape, std::span<const PointerArgument> pointers,
                   std::span<const KernelBytes> bytes) {
  Lane* lane = impl_->progress.lane(stream);
  if (!lane) return kNoOp;
  const Chain::Kernel front = lane->chain.last();
  const bool overlaps = shape.dependence.overlaps && lane->chain.is_in_front(lane->last) && !impl_->progress.variants;
  OpId op{};
  bool behind_front_only = false;  // and behind what its thread knows
  if (overlaps) {
    const TwoClocks before = lane->clock;
    op = impl_->progress.begin(call, *lane, LegacyRole::Action);
    behind_front_only = !Progress::joined_more(*lane, before, impl_->progress.host(call.thread));
  } else {
    op = impl_->progress.begin(call, *lane, LegacyRole::Action);
  }
  Access access{.op = op, .site = call.site, .stream = stream, .thread = call.thread};
  Impl::by_kernel(access, shape);
  const HostClock& host = impl_->progress.host(call.thread);
  const Chain::Kernel kernel{lane->last, op, call.site};
  if (behind_front_only) {
    lane->chain.dependent(kernel, shape.dependence, host.clock.documented[lane->slot], host.clock.assumed[lane->slot]);
    impl_->touch_dependent(access, {lane->slot, lane->last, lane->clock, host}, {*lane, shape, front}, pointers, bytes);
  } else {
    lane->chain.plain(kernel);
    impl_->touch_kernel(access, shape.learned, {lane->slot, lane->last, lane->clock, host}, pointers, bytes);
  }
  if (impl_->progress.variants) {
    impl_->progress.mark_work(*lane, op, call.site);
    if (!shape.confined) impl_->progress.mark_unbounded(*lane, op, call.site, Exposure::Why::Kernel);
    if (shape.prints) impl_->progress.mark(*lane, op, call.site, Exposure::Why::Print);
    for (const PointerArgument& pointer : pointers) {
      mark_access(impl_->progress, impl_->lives, {*lane, op, call.site}, {pointer.address, pointer.address + 1},
                  pointer.mode);
    }
    for (const KernelBytes& known : bytes)
      mark_access(impl_->progress, impl_->lives, {*lane, op, call.site}, row_of(known.bytes, 0), known.mode);
  }
  return op;
}

OpId Model::copy(Call call, StreamId stream, const Footprint& dst, const Footprint& src, Form form) {
  HostThread& thread = impl_->progress.calling(call);
  Lane* lane = impl_->progress.lane(stream);
  if (!lane || std::max(bytes_of(dst), bytes_of(src)) == 0) return kNoOp;  // R-CPY-23
  const MemoryKind to = impl_->lives.kind_at(dst.base);
  const MemoryKind from = impl_->lives.kind_at(src.base);
  const bool syncs = form == Form::Synchronous && (impl_->lives.syncs(dst.base) || impl_->lives.syncs(src.base));
  const CopyRule rule = syncs ? kSyncMemory : copy_rule(to, from, form);
  const bool syncs_first = rule.documented == HostEffect::Prior || rule.assumed == HostEffect::Prior;
  std::unique_ptr<TwoClocks> prior;  // few copies need it, and it is large
  if (syncs_first) prior = std::make_unique<TwoClocks>(impl_->progress.contexts.covered_by(*lane));
  const std::vector<Lane*> peers = peers_of(impl_->progress, impl_->lives, *lane, dst.base, src.base);
  const OpId op = peers.empty() ? impl_->progress.begin(call, *lane, LegacyRole::Action)
                                : impl_->progress.begin_between(call, *lane, peers);
  Access access{.op = op, .site = call.site, .stream = stream, .thread = call.thread, .source = AccessSource::Copy};
  const Actor actor{lane->slot, lane->last, lane->clock, *thread.host};
  const bool borrows = form == Form::Asynchronous && rule.documented == HostEffect::None;
  access.mode = AccessMode::Read;
  // R-CPY-01: a synchronous copy is done with a pageable source when it returns.
  const bool source_is_free = form == Form::Synchronous && from == MemoryKind::Pageable;
  if (!source_is_free) impl_->pieces.touch_footprint(src, access, actor);
  if (borrows && from == MemoryKind::Pageable) impl_->lend(src, access, actor);
  access.mode = AccessMode::Write;
  impl_->pieces.touch_footprint(dst, access, actor);
  if (borrows && to == MemoryKind::Pageable) impl_->lend(dst, access, actor);
  if (impl_->progress.variants) {
    impl_->progress.mark_work(*lane, op, call.site);
    if (source_is_free) {
      impl_->progress.expose_source(*lane, op, call.site, hull(src));
    } else {
      mark_access(impl_->progress, impl_->lives, {*lane, op, call.site}, hull(src), AccessMode::Read);
    }
    mark_access(impl_->progress, impl_->lives, {*lane, op, call.site}, hull(dst), AccessMode::Write);
  }
  impl_->progress.promise(thread, rule, *lane, prior ? *prior : impl_->progress.nothing);
  return op;
}

OpId Model::fill(Call call, StreamId stream, const Footprint& dst, Form form) {
  HostThread& thread = impl_->progress.calling(call);
  Lane* lane = impl_->progress.lane(stream);
  if (!lane || bytes_of(dst) == 0) return kNoOp;  // R-CPY-23
  const OpId op = impl_->progress.begin(call, *lane, LegacyRole::Action);
  const Access access{.op = op,
                      .site = call.site,
                      .stream = stream,
                      .thread = call.thread,
                      .mode = AccessMode::Write,
                      .source = AccessSource::Fill};
  impl_->pieces.touch_footprint(dst, access, {lane->slot, lane->last, lane->clock, *thread.host});
  if (impl_->progress.variants) {
    impl_->progress.mark_work(*lane, op, call.site);
    mark_access(impl_->progress, impl_->lives, {*lane, op, call.site}, hull(dst), AccessMode::Write);
  }
  const bool syncs = form == Form::Synchronous && impl_->lives.syncs(dst.base);
  impl_->progress.promise(thread, syncs ? kSyncMemory : fill_rule(impl_->lives.kind_at(dst.base), form), *lane,
                          impl_->progress.nothing);
  return op;
}

void Model::Impl::read_during_call(std::span<const BatchPart> parts, Access access, HostClock& host) {
  const auto during = [](const BatchPart& part) {
    return part.order == SourceOrder::DuringCall && part.src.base != 0 && bytes_of(part.src) != 0;
  };
  if (std::none_of(parts.begin(), parts.end(), during)) return;
  begin_touch(host);
  for (const BatchPart& part : parts) {
    if (!during(part)) continue;
    const std::uint64_t rows = std::min(part.src.rows * part.src.slices, Pieces::kMostRows);
    for (std::uint64_t row = 0; row < rows; ++row) touch_by_host(access, row_of(part.src, row), host);
  }
}

OpId Model::batch(Call call, StreamId stream, std::span<const BatchPart> parts, AccessSource source) {
  HostThread& thread = impl_->progress.calling(call);
  Lane* lane = impl_->progress.lane(stream);
  const auto is_empty = [](const BatchPart& part) { return std::max(bytes_of(part.dst), bytes_of(part.src)) == 0; };
  if (!lane || std::all_of(parts.begin(), parts.end(), is_empty)) return kNoOp;
  Access access{.op = OpId{impl_->progress.last_op + 1},
                .site = call.site,
                .stream = stream,
                .thread = call.thread,
                .mode = AccessMode::Read,
                .source = source};
  impl_->read_during_call(parts, access, *thread.host);
  const OpId op = impl_->progress.begin(call, *lane, LegacyRole::Action);
  const Actor actor{lane->slot, lane->last, lane->clock, *thread.host};
  const Actor early{
      .lane = lane->slot, .epoch = lane->last, .clock = thread.host->clock, .host = *thread.host, .out_of_order = true};
  std::vector<KernelBytes> in_order;
  std::vector<KernelBytes> out_of_order;
  CopyRule waits = copy_rule(MemoryKind::Device, MemoryKind::Device, Form::Asynchronous);
  for (const BatchPart& part : parts) {
    if (is_empty(part)) continue;
    const MemoryKind to = impl_->lives.kind_at(part.dst.base);
    const MemoryKind from = impl_->lives.kind_at(part.src.base);
    const bool copies = source == AccessSource::Copy;
    const CopyRule rule = copies ? batch_rule(to, from) : fill_rule(to, Form::Asynchronous);
    const auto longer = [](const CopyRule& a, const CopyRule& b) {
      return std::pair(a.documented, a.assumed) > std::pair(b.documented, b.assumed);
    };
    if (longer(rule, waits)) waits = rule;
    const bool reads_later = part.order != SourceOrder::DuringCall;
    if (reads_later) (part.order == SourceOrder::Any ? out_of_order : in_order).push_back({part.src, AccessMode::Read});
    in_order.push_back({part.dst, AccessMode::Write});
    const bool borrows = copies && rule.documented == HostEffect::None;
    for (const auto& [side, mode, kind] :
         {std::tuple(part.src, AccessMode::Read, from), std::tuple(part.dst, AccessMode::Write, to)}) {
      if (!borrows || kind != MemoryKind::Pageable || (mode == AccessMode::Read && !reads_later)) continue;
      Access lent = access;
      lent.mode = mode;
      lent.in_place = is_used_in_place(mode, part.order);
      impl_->lend(side, lent, actor);
    }
    if (!impl_->progress.variants) continue;
    if (reads_later)
      mark_access(impl_->progress, impl_->lives, {*lane, op, call.site}, hull(part.src), AccessMode::Read);
    mark_access(impl_->progress, impl_->lives, {*lane, op, call.site}, hull(part.dst), AccessMode::Write);
  }
  // First, so that the batch is not compared with itself.
  impl_->pieces.touch_known(out_of_order, access, early);
  impl_->pieces.touch_known(in_order, access, actor);
  if (impl_->progress.variants) impl_->progress.mark_work(*lane, op, call.site);
  impl_->progress.promise(thread, waits, *lane, impl_->progress.nothing);
  return op;
}

OpId Model::stream_action(Call call, StreamId stream, bool for_host) {
  Lane* lane = impl_->progress.lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->progress.begin(call, *lane, LegacyRole::Action);
  if (impl_->progress.variants && for_host) impl_->progress.mark(*lane, op, call.site, Exposure::Why::Action);
  return op;
}

OpId Model::host_function(Call call, StreamId stream) {
  Lane* lane = impl_->progress.lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->progress.begin(call, *lane, LegacyRole::Action);
  // The assumed clock contains the documented one: the function may signal whatever is complete today.
  impl_->progress.may_signal(*lane);
  if (impl_->progress.variants) impl_->progress.mark_unbounded(*lane, op, call.site, Exposure::Why::HostFunction);
  return op;
}

OpId Model::stream_joins_all(Call call, StreamId stream) {
  Lane* lane = impl_->progress.lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->progress.begin(call, *lane, LegacyRole::Action);
  impl_->progress.contexts.join_everything(*lane);
  for (const HostClock& host : impl_->progress.hosts) lane->clock.join(host.clock);
  return op;
}

}  // namespace streamsan::ordering
