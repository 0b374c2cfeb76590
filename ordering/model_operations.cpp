// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of streams: kernels, copies, fills and those without modelled accesses.
#include <algorithm>
#include <numeric>

#include "ordering/model_impl.h"

namespace streamsan::ordering {
MemoryKind Model::Impl::kind_at(Address address) {
  if (address == 0) return MemoryKind::Device;  // an array
  const Allocation* allocation = allocations.find(address);
  return allocation ? allocation->info.kind : MemoryKind::Pageable;
}

std::vector<Lane*> Model::Impl::peers_of(const Lane& lane, Address dst, Address src) {
  if (lane.kind != StreamKind::Legacy || contexts.size() < 2) return {};
  std::vector<std::uint32_t> between;
  bool known = true;
  for (const Address address : {dst, src}) {
    // An array counts as lying on the device of the other side. A side without an allocation, or of a kind that no
    // device holds, is host memory.
    const Allocation* allocation = address ? allocations.find(address) : nullptr;
    if (!allocation || !(is_on_device(allocation->info.kind) || allocation->info.kind == MemoryKind::Managed))
      return {};
    known &= allocation->info.context.has_value();
    if (known) between.push_back(contexts.index_of(*allocation->info.context));
  }
  // Within one device, in its own stream. In that of another device it is a barrier for both (measured).
  if (known && between[0] == between[1] && between[0] == lane.context) return {};
  if (!known) {  // on any device
    between.resize(contexts.size());
    std::iota(between.begin(), between.end(), 0u);
  }
  std::vector<Lane*> peers;
  for (const std::uint32_t index : between) {
    if (index == lane.context) continue;
    if (contexts[index].legacy == Context::kNone) open_stream(contexts[index].id, StreamKind::Legacy, ThreadId{});
    peers.push_back(&lanes[contexts[index].legacy]);
  }
  return peers;
}

OpId Model::Impl::begin_between(Call call, Lane& lane, std::span<Lane* const> peers) {
  for (Lane* peer : peers) enter(call, *peer, LegacyRole::Action);
  const OpId op = begin(call, lane, LegacyRole::Action);
  const Among among = variants ? variants->makes(call.site, Effect::Barrier) : Among{};
  const VectorClock before = among.others.empty() ? VectorClock{} : lane.clock.assumed;
  for (const Lane* peer : peers) lane.clock.join(peer->clock, among);
  lane.history.last_between = op;
  if (variants) tell_barrier(lane, before, among, op);
  // Their blocking streams join this as the barrier of their own context.
  for (Lane* peer : peers) peer->clock.join(lane.clock, among);
  return op;
}

OpId Model::launch(Call call, StreamId stream, const LaunchShape& shape, std::span<const PointerArgument> pointers,
                   std::span<const KernelBytes> bytes) {
  Lane* lane = impl_->lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
  Access access{.op = op,
                .site = call.site,
                .stream = stream,
                .thread = call.thread,
                .source = AccessSource::Kernel,
                .exact = false,
                .function = shape.function,
                .device_threads = shape.threads,
                .arguments_hash = shape.arguments_hash};
  const Actor actor{lane->slot, lane->last, lane->clock, impl_->host(call.thread)};
  for (const PointerArgument& pointer : pointers) {
    Allocation* allocation = impl_->holder(pointer.address);
    if (!allocation) {
      access.mode = pointer.mode;
      access.range = {pointer.address, pointer.address + 1};
      impl_->touch_freed(access);
      continue;
    }
    const Part reach{allocation, {pointer.address, allocation->info.range.end}, pointer.mode};
    impl_->touch(access, {&reach, 1}, actor);
  }
  access.exact = true;
  access.learned = shape.learned;
  impl_->touch_known(bytes, access, actor);
  if (impl_->variants) {
    impl_->mark_work(*lane, op, call.site);
    if (!shape.confined) impl_->mark_unbounded(*lane, op, call.site, Exposure::Why::Kernel);
    if (shape.prints) impl_->mark(*lane, op, call.site, Exposure::Why::Print);
    for (const PointerArgument& pointer : pointers) {
      impl_->mark_access(*lane, op, call.site, {pointer.address, pointer.address + 1}, pointer.mode);
    }
    for (const KernelBytes& known : bytes) impl_->mark_access(*lane, op, call.site, row_of(known.bytes, 0), known.mode);
  }
  return op;
}

OpId Model::copy(Call call, StreamId stream, const Footprint& dst, const Footprint& src, Form form) {
  HostThread& thread = impl_->calling(call);
  Lane* lane = impl_->lane(stream);
  if (!lane || std::max(bytes_of(dst), bytes_of(src)) == 0) return kNoOp;  // R-CPY-23
  const MemoryKind to = impl_->kind_at(dst.base);
  const MemoryKind from = impl_->kind_at(src.base);
  const CopyRule rule = copy_rule(to, from, form);
  const bool syncs_first = rule.documented == HostEffect::Prior || rule.assumed == HostEffect::Prior;
  const TwoClocks prior = syncs_first ? impl_->contexts.covered_by(*lane) : TwoClocks{};
  const std::vector<Lane*> peers = impl_->peers_of(*lane, dst.base, src.base);
  const OpId op =
      peers.empty() ? impl_->begin(call, *lane, LegacyRole::Action) : impl_->begin_between(call, *lane, peers);
  Access access{.op = op, .site = call.site, .stream = stream, .thread = call.thread, .source = AccessSource::Copy};
  const Actor actor{lane->slot, lane->last, lane->clock, *thread.host};
  const bool borrows = form == Form::Asynchronous && rule.documented == HostEffect::None;
  const auto lend = [&](const Footprint& side) {
    access.range = hull(side);
    impl_->loans.add({side, {lane->slot, lane->last, access}});
  };
  access.mode = AccessMode::Read;
  // R-CPY-01: a synchronous copy is done with a pageable source when it returns.
  const bool source_is_free = form == Form::Synchronous && from == MemoryKind::Pageable;
  if (!source_is_free) impl_->touch_footprint(src, access, actor);
  if (borrows && from == MemoryKind::Pageable) lend(src);
  access.mode = AccessMode::Write;
  impl_->touch_footprint(dst, access, actor);
  if (borrows && to == MemoryKind::Pageable) lend(dst);
  if (impl_->variants) {
    impl_->mark_work(*lane, op, call.site);
    if (source_is_free) {
      impl_->expose_source(*lane, op, call.site, hull(src));
    } else {
      impl_->mark_access(*lane, op, call.site, hull(src), AccessMode::Read);
    }
    impl_->mark_access(*lane, op, call.site, hull(dst), AccessMode::Write);
  }
  impl_->promise(thread, rule, *lane, prior);
  return op;
}

OpId Model::fill(Call call, StreamId stream, const Footprint& dst, Form form) {
  HostThread& thread = impl_->calling(call);
  Lane* lane = impl_->lane(stream);
  if (!lane || bytes_of(dst) == 0) return kNoOp;  // R-CPY-23
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
  const Access access{.op = op,
                      .site = call.site,
                      .stream = stream,
                      .thread = call.thread,
                      .mode = AccessMode::Write,
                      .source = AccessSource::Fill};
  impl_->touch_footprint(dst, access, {lane->slot, lane->last, lane->clock, *thread.host});
  if (impl_->variants) {
    impl_->mark_work(*lane, op, call.site);
    impl_->mark_access(*lane, op, call.site, hull(dst), AccessMode::Write);
  }
  impl_->promise(thread, fill_rule(impl_->kind_at(dst.base), form), *lane, {});
  return op;
}

OpId Model::stream_action(Call call, StreamId stream, bool for_host) {
  Lane* lane = impl_->lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
  if (impl_->variants && for_host) impl_->mark(*lane, op, call.site, Exposure::Why::Action);
  return op;
}

OpId Model::host_function(Call call, StreamId stream) {
  Lane* lane = impl_->lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
  // The assumed clock contains the documented one: the function may signal whatever is complete today.
  impl_->told.join(lane->clock.assumed);
  if (impl_->variants) impl_->mark_unbounded(*lane, op, call.site, Exposure::Why::HostFunction);
  return op;
}

OpId Model::stream_joins_all(Call call, StreamId stream) {
  Lane* lane = impl_->lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
  impl_->contexts.join_everything(*lane);
  for (const HostClock& host : impl_->hosts) lane->clock.join(host.clock);
  return op;
}

OpId Model::graph_launch(Call call, StreamId stream, std::uint64_t exec) {
  Lane* lane = impl_->lane(stream);
  if (!lane) return kNoOp;
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
  TwoClocks& last_launch = impl_->graphs.at(exec);
  lane->clock.join(last_launch);
  last_launch = lane->clock;
  if (impl_->variants) impl_->mark_unbounded(*lane, op, call.site, Exposure::Why::Graph);
  return op;
}

}  // namespace streamsan::ordering
