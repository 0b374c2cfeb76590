// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each record becomes in the picture. Word positions are those of trace/format.h.
#include "judge/timeline.h"

#include <algorithm>

namespace streamsan::judge {

using ordering::OpId;
using report::OpClass;
using trace::Item;
using trace::Kind;
using trace::Record;

namespace {

constexpr std::size_t kPiecesLookedAt = 64;  // of a launch; more are in the same few buffers

OpClass class_of(Kind kind) {
  switch (kind) {
    case Kind::HostFunction:
      return OpClass::HostFunction;
    case Kind::GraphLaunch:
      return OpClass::Graph;
    default:
      return OpClass::Other;
  }
}

bool reads(ordering::AccessMode mode) { return mode != ordering::AccessMode::Write; }
bool writes(ordering::AccessMode mode) { return mode != ordering::AccessMode::Read; }

}  // namespace

Timeline::Timeline(Judge& judge, const Hazards& hazards, std::size_t most)
    : judge_(judge), hazards_(hazards), most_(most) {}

void Timeline::observe(const Item& item, OpId first, OpId last) {
  const Record& record = *item.record;
  const bool works = first <= last;  // what a capture takes, and what does nothing, makes no operation
  switch (record.kind) {
    case Kind::Launch:
      if (works) launch(item, last);
      break;
    case Kind::Copy:
      if (works) copy(item, last);
      break;
    case Kind::Fill:
      if (works) fill(item, last);
      break;
    case Kind::HostFunction:
    case Kind::StreamAction:
    case Kind::StreamJoinsAll:
    case Kind::GraphLaunch:
      if (works) submitted(add(item, last, stream_lane(judge_.stream_of(record)), class_of(record.kind)));
      break;
    case Kind::Alloc:
      allocate(item, works ? last : ordering::kNoOp);
      break;
    case Kind::Free:
      if (works) free(item, last);
      break;
    case Kind::BlockAlloc:
    case Kind::BlockFree:
      if (works) block(item, last);
      break;
    case Kind::HostFree:
      if (works) add(item, last, thread_lane(record.thread), OpClass::Free).bytes = record.as<Kind::HostFree>().bytes;
      break;
    case Kind::HostAccess:
      if (works)
        touch(add(item, last, thread_lane(record.thread), OpClass::HostAccess), record.as<Kind::HostAccess>().address,
              !record.as<Kind::HostAccess>().writes, record.as<Kind::HostAccess>().writes);
      break;
    case Kind::EventRecord:
    case Kind::EventWait:
      if (works) event(item, last);
      break;
    case Kind::SyncStream:
    case Kind::SyncEvent:
    case Kind::SyncContext:
    case Kind::QueryStream:
    case Kind::QueryEvent:
      sync(item);
      break;
    case Kind::CallEnd:
      call_end(item);
      break;
    case Kind::GpuTime:
      gpu_time(item);
      break;
    case Kind::NameStream:
      if (const auto stream = judge_.handles().known_stream(record.as<Kind::NameStream>().handle)) {
        const StreamLife* life = judge_.handles().life(*stream);
        if (life) streams_[stream_lane(*stream) - kStreams].life = *life;
      }
      break;
    default:
      break;
  }
  if (ops_.size() > 4 * most_) thin(most_);
}

Timeline::Op& Timeline::add(const Item& item, OpId last, std::uint32_t lane, OpClass kind, std::uint32_t kernel) {
  const Record& record = *item.record;
  Op& op = ops_.emplace_back();
  op.seq = next_++;
  op.number = static_cast<std::uint64_t>(last);
  op.upto = judge_.model().statistics().operations;
  op.position = item.position;
  op.lane = lane;
  op.thread = thread_lane(record.thread);
  op.site = record.kind >= Kind::HostAccess && record.kind <= Kind::BlockFree ? judge_.site_outside(item)
                                                                              : judge_.site_of(record, kernel);
  op.kind = kind;
  return op;
}

void Timeline::launch(const Item& item, OpId last) {
  const Record& record = *item.record;
  Op& op = add(item, last, stream_lane(judge_.stream_of(record)), OpClass::Kernel,
               judge_.places().kernel_index(record.as<Kind::Launch>().function));
  const LaunchBytes& bytes = judge_.bytes_of(item);
  const std::size_t pieces = std::min(bytes.exact.bytes.size(), kPiecesLookedAt);
  for (std::size_t i = 0; i < pieces; ++i) {
    const ordering::KernelBytes& piece = bytes.exact.bytes[i];
    touch(op, piece.bytes.base, reads(piece.mode), writes(piece.mode));
  }
  if (!bytes.exact.complete) {
    for (const ordering::PointerArgument& pointer : bytes.pointers) {
      touch(op, pointer.address, reads(pointer.mode), writes(pointer.mode));
    }
  }
  submitted(op);
}

void Timeline::copy(const Item& item, OpId last) {
  const Record& record = *item.record;
  Op& op = add(item, last, stream_lane(judge_.stream_of(record)), OpClass::Copy);
  const auto& w = record.as<Kind::Copy>();
  op.bytes = w.width;
  if (w.shaped)
    op.bytes *= std::max<std::uint64_t>(item.shape().height, 1) * std::max<std::uint64_t>(item.shape().depth, 1);
  touch(op, w.dst, false, true);
  touch(op, w.src, true, false);
  const std::vector<Seq> prior = last_of(op.lane);
  submitted(op);
  const bool waits = !(record.flags & trace::kAsyncForm);
  const ordering::Model& model = judge_.model();
  const ordering::CopyRule rule = ordering::copy_rule(
      model.kind_at(w.dst), model.kind_at(w.src), waits ? ordering::Form::Synchronous : ordering::Form::Asynchronous);
  host_waits(item, op, waits ? rule.assumed : rule.documented, prior);
}

void Timeline::fill(const Item& item, OpId last) {
  const Record& record = *item.record;
  Op& op = add(item, last, stream_lane(judge_.stream_of(record)), OpClass::Fill);
  const auto& w = record.as<Kind::Fill>();
  op.bytes = w.width * (w.pitch ? std::max<std::uint64_t>(w.height, 1) : 1);
  touch(op, w.dst, false, true);
  submitted(op);
  if (!(record.flags & trace::kAsyncForm))
    host_waits(item, op, ordering::fill_rule(judge_.model().kind_at(w.dst), ordering::Form::Synchronous).assumed, {});
}

void Timeline::allocate(const Item& item, OpId last) {
  const Record& record = *item.record;
  // Variables are looked up again and again.
  if (record.flags & trace::kVariable) return;
  const auto& w = record.as<Kind::Alloc>();
  const bool in_stream = w.memory == ordering::MemoryKind::DeviceAsync;
  if (in_stream && last == ordering::kNoOp) return;
  const std::uint32_t lane =
      in_stream ? stream_lane(judge_.stream_of(w.stream, w.context, record.thread)) : thread_lane(record.thread);
  Op& op = add(item, last, lane, OpClass::Alloc);
  op.bytes = w.bytes;
  touch(op, w.address, false, true);
  if (in_stream) submitted(op, false);  // R-STR-17
}

void Timeline::free(const Item& item, OpId last) {
  const Record& record = *item.record;
  const auto& w = record.as<Kind::Free>();
  const bool in_stream = w.way == trace::FreeKind::Async;
  const std::uint32_t lane =
      in_stream ? stream_lane(judge_.stream_of(w.stream, w.context, record.thread)) : thread_lane(record.thread);
  Op& op = add(item, last, lane, OpClass::Free);
  // The allocation is gone by now.
  const std::uint32_t* buffer = buffer_at_.find(w.address);
  if (buffer) touch(op, *buffer - 1, false, true);
  if (in_stream) return submitted(op);
  if (buffer && buffers_[*buffer - 1].kind == ordering::MemoryKind::DeviceAsync) return;  // R-ALC-03
  pending_[record.thread] = {op.seq, item.position};
  op.nth_of_site = calls_[static_cast<std::uint64_t>(op.site)]++;
  waited_for_all(op.seq, judge_.context_of(w.context, record.thread));
}

void Timeline::block(const Item& item, OpId last) {
  const Record& record = *item.record;
  const bool in_stream = !(record.flags & (trace::kOnHost | trace::kNoStream));
  const bool begins = record.kind == Kind::BlockAlloc;
  const auto& w = record.as<Kind::BlockAlloc>();
  const std::uint32_t lane =
      in_stream ? stream_lane(judge_.stream_of(w.stream, w.context, record.thread)) : thread_lane(record.thread);
  Op& op = add(item, last, lane, begins ? OpClass::Alloc : OpClass::Free);
  if (begins) {
    op.bytes = w.bytes;
    if (const ordering::AllocationInfo* info = judge_.model().find_block(w.address)) {
      const std::uint32_t buffer = buffer_of(*info);
      if (buffer != 0) blocks_[w.address] = {w.address + w.bytes, buffer - 1};
    }
    touch(op, w.address, false, true);
  } else {
    touch(op, w.address, false, true);
    blocks_.erase(w.address);
  }
  if (in_stream) submitted(op);
}

void Timeline::event(const Item& item, OpId last) {
  const Record& record = *item.record;
  const bool records = record.kind == Kind::EventRecord;
  Op& op = add(item, last, stream_lane(judge_.stream_of(record)), records ? OpClass::Event : OpClass::Wait);
  bool acts = records;
  if (const auto event = judge_.handles().known_event(record.as<Kind::EventRecord>().event)) {
    const EventLife* life = judge_.handles().life(*event);
    op.event = life ? life->number : 0;
    Seq& recorded = records_[static_cast<std::uint64_t>(*event)];
    if (records) {
      recorded = op.seq;
    } else {
      edge(recorded, op.seq, report::EdgeKind::Event);
      acts = recorded != 0;  // R-EVT-04
    }
  }
  if (acts) submitted(op);
}

void Timeline::sync(const Item& item) {
  const Record& record = *item.record;
  Op& op = add(item, ordering::kNoOp, thread_lane(record.thread), OpClass::Sync);
  op.nth_of_site = calls_[static_cast<std::uint64_t>(op.site)]++;
  switch (record.kind) {
    case Kind::SyncStream:
    case Kind::QueryStream: {
      const std::uint32_t lane = stream_lane(judge_.stream_of(record));
      waited_for(op.seq, lane);
      break;
    }
    case Kind::SyncEvent:
    case Kind::QueryEvent:
      if (const auto event = judge_.handles().known_event(record.as<Kind::SyncEvent>().event)) {
        const EventLife* life = judge_.handles().life(*event);
        op.event = life ? life->number : 0;
        if (const Seq* recorded = records_.find(static_cast<std::uint64_t>(*event))) {
          edge(*recorded, op.seq, report::EdgeKind::Event);
        }
      }
      break;
    default:
      waited_for_all(op.seq, judge_.context_of(record.as<Kind::SyncContext>().context, record.thread));
      break;
  }
  if (record.kind != Kind::QueryStream && record.kind != Kind::QueryEvent) {
    pending_[record.thread] = {op.seq, item.position};
  }
}

/// The call that made the work returns when that is done, or the work before it: a box of its own on the host's line.
void Timeline::host_waits(const Item& item, const Op& work, ordering::HostEffect effect,
                          const std::vector<Seq>& prior) {
  if (effect == ordering::HostEffect::None) return;
  const bool complete = effect == ordering::HostEffect::Complete;
  const Seq from = work.seq;
  const std::uint32_t lane = work.lane;
  Op& op = add(item, ordering::kNoOp, thread_lane(item.record->thread), OpClass::Sync);
  op.nth_of_site = calls_[static_cast<std::uint64_t>(op.site)]++;
  if (complete) edge(from, op.seq, report::EdgeKind::Sync);
  if (!complete)
    for (const Seq before : prior) edge(before, op.seq, report::EdgeKind::Sync);
  if (complete) streams_[lane - kStreams].since_sync = false;
  pending_[item.record->thread] = {op.seq, item.position};
}

void Timeline::call_end(const Item& item) {
  Pending* pending = pending_.find(item.record->thread);
  const auto& w = item.record->as<Kind::CallEnd>();
  if (!pending || pending->op == 0 || pending->position != w.position) return;
  const std::size_t index = index_of(pending->op);
  pending->op = 0;
  if (index == ops_.size()) return;
  ops_[index].until = next_;
  ops_[index].start_ns = w.made;
  ops_[index].end_ns = w.returned;
}

void Timeline::gpu_time(const Item& item) {
  const auto& w = item.record->as<Kind::GpuTime>();
  auto op = std::lower_bound(ops_.begin(), ops_.end(), w.position,
                             [](const Op& each, std::uint64_t position) { return each.position < position; });
  if (op == ops_.end() || op->position != w.position || op->lane < kStreams || w.end < w.start) return;
  op->start_ns = w.start;
  op->end_ns = w.end;
}

}  // namespace streamsan::judge
