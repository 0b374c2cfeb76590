// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of streams: kernels, copies, fills and those without modelled accesses.
//
// What a copy, a fill or a kernel of several rows loses: rows past kMostRows, those of all slices together, and what a
// kernel touches past kMostParts, are not remembered or compared (a race may be missed, none is invented). Rows without
// a gap between them count as one.
//
// All that a kernel touches of one allocation is compared together, sorted: a kernel that works in place, or on four
// hundred slices, gives one hazard for each stream it races with, not one for each piece.
#include <algorithm>
#include <tuple>

#include "ordering/model_impl.h"

namespace streamsan::ordering {
namespace {

constexpr std::uint64_t kMostRows = 1024;
constexpr std::size_t kMostParts = 4096;

Bytes bytes_of(const Footprint& footprint) { return footprint.width * footprint.rows * footprint.slices; }

/// The same bytes in as few runs as their pitches allow: a dimension of one step, or one whose steps follow each other
/// without a gap, is no dimension.
Footprint simplified(Footprint f) {
  if (f.slices > 1 && f.rows > 1 && f.slice_pitch == f.pitch * f.rows) {
    f.rows *= f.slices;
    f.slices = 1;
  }
  if (f.rows > 1 && f.pitch == f.width) {
    f.width *= f.rows;
    f.rows = 1;
  }
  if (f.slices > 1 && f.rows == 1) {
    f.pitch = f.slice_pitch;
    f.rows = f.slices;
    f.slices = 1;
    if (f.pitch == f.width) {
      f.width *= f.rows;
      f.rows = 1;
    }
  }
  return f;
}

/// Rows of all slices are counted through.
Range row_of(const Footprint& f, std::uint64_t row) {
  const Address begin = f.base + row / f.rows * f.slice_pitch + row % f.rows * f.pitch;
  return {begin, begin + f.width};
}

}  // namespace

MemoryKind Model::Impl::kind_at(Address address) {
  if (address == 0) return MemoryKind::Device;  // an array
  const Allocation* allocation = allocations.find(address);
  return allocation ? allocation->info.kind : MemoryKind::Pageable;
}

bool Model::Impl::add_parts(const Footprint& given, AccessMode mode, bool widened) {
  if (given.base == 0 || bytes_of(given) == 0) return true;
  const Footprint footprint = simplified(given);
  if (blocks.live() > 0) {
    if (!holder(given.base)) return false;
    add_rows_among_blocks(footprint, mode, widened);
    return true;
  }
  Allocation* allocation = allocations.find(given.base);
  if (!allocation) return false;
  if (footprint.rows > 1) {
    const std::uint64_t all = footprint.rows * footprint.slices;
    const std::uint64_t rows = std::min({all, kMostRows, std::uint64_t{kMostParts - parts_.size()}});
    shadow.forgotten += all - rows;
    for (std::uint64_t row = 0; row < rows; ++row) {
      const Range range = intersection(row_of(footprint, row), allocation->info.range);
      if (!range.empty()) parts_.push_back({allocation, range, mode, widened});
    }
    return true;
  }
  // A run of bytes may reach over several allocations: neighbouring mapped ranges.
  Range rest{footprint.base, footprint.base + footprint.width};
  while (allocation && allocation->info.range.overlaps(rest)) {
    if (parts_.size() == kMostParts) {
      ++shadow.forgotten;
      return true;
    }
    parts_.push_back({allocation, intersection(rest, allocation->info.range), mode, widened});
    rest.begin = allocation->info.range.end;
    allocation = rest.empty() ? nullptr : allocations.find(rest.begin);
  }
  return true;
}

void Model::Impl::add_rows_among_blocks(const Footprint& footprint, AccessMode mode, bool widened) {
  const std::uint64_t all = footprint.rows * footprint.slices;
  const std::uint64_t rows = std::min(all, kMostRows);
  shadow.forgotten += all - rows;
  for (std::uint64_t row = 0; row < rows; ++row) {
    for_each_held(row_of(footprint, row), [&](Allocation& held_by, Range range) {
      if (parts_.size() == kMostParts) {
        ++shadow.forgotten;
      } else {
        parts_.push_back({&held_by, range, mode, widened});
      }
    });
  }
}

/// Those of one allocation stand together.
void Model::Impl::touch_parts(const Access& access, const Actor& actor) {
  for (std::size_t first = 0; first < parts_.size();) {
    std::size_t end = first + 1;
    while (end < parts_.size() && parts_[end].allocation == parts_[first].allocation) ++end;
    touch(access, {parts_.data() + first, end - first}, actor);
    first = end;
  }
}

void Model::Impl::touch_footprint(const Footprint& footprint, const Access& access, const Actor& actor) {
  parts_.clear();
  if (!add_parts(footprint, access.mode, false)) {
    Access stale = access;
    stale.range = row_of(footprint, 0);
    touch_freed(stale);
  }
  if (blocks.live() > 0) {
    std::stable_sort(parts_.begin(), parts_.end(),
                     [](const Part& a, const Part& b) { return a.allocation->info.id < b.allocation->info.id; });
  }
  touch_parts(access, actor);
}

void Model::Impl::touch_known(std::span<const KernelBytes> bytes, const Access& access, const Actor& actor) {
  parts_.clear();
  for (const KernelBytes& known : bytes) {
    if (add_parts(known.bytes, known.mode, known.widened)) continue;
    Access stale = access;
    stale.range = row_of(known.bytes, 0);
    stale.mode = known.mode;
    stale.widened = known.widened;
    touch_freed(stale);
  }
  if (parts_.size() > 1) {
    // Reads come first: of two equally bad conflicts with one operation the first is reported, and that a kernel may
    // read what is not there yet says more than that it also writes there.
    const auto place = [](const Part& part) {
      return std::tuple(part.allocation->info.range.begin, part.allocation->info.id, part.mode == AccessMode::Write,
                        part.mode, part.widened, part.range.begin);
    };
    std::sort(parts_.begin(), parts_.end(), [&](const Part& a, const Part& b) { return place(a) < place(b); });
  }
  touch_parts(access, actor);
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
    if (!shape.confined) impl_->mark(*lane, op, call.site, Exposure::Why::Kernel);
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
  const OpId op = impl_->begin(call, *lane, LegacyRole::Action);
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
    impl_->mark_access(*lane, op, call.site, hull(src), AccessMode::Read);
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
  // The assumed clock holds the documented one: what may only work today may still have been told.
  impl_->told.join(lane->clock.assumed);
  if (impl_->variants) impl_->mark(*lane, op, call.site, Exposure::Why::HostFunction);
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
  if (impl_->variants) impl_->mark(*lane, op, call.site, Exposure::Why::Graph);
  return op;
}

}  // namespace streamsan::ordering
