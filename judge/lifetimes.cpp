// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The records about memory: allocations and blocks of pools, their ends, and what the host itself does to bytes that
// the GPU may be using. See judge.h; the words of the records are those of trace/format.h.
//
// WHAT IS NO ACCESS OF THE PROGRAM'S. The recorder sees which thread touched memory, not on whose behalf:
//   * inside of a blocking call of the driver the driver touches what the call was given; the call's own record says
//   so;
//   * host functions run in stream order, on threads of the driver's. A thread that has made no call of CUDA may be one
//     of them, once anything was submitted that runs host code. A change of bytes whose write was not seen may come
//     from one, too;
//   * bytes that changed unseen may have been changed by an operation of the GPU that is still under way. The record of
//     such a change is made while its thread may be doing anything, so that it says nothing about the thread's calls;
//     its stack is that of the copy.
#include <algorithm>
#include <span>

#include "judge/judge.h"
#include "judge/transfers.h"
#include "ordering/api/row.h"

namespace streamsan::judge {

using ordering::MemoryKind;
using ordering::StreamId;
using ordering::ThreadId;
using trace::Item;
using trace::Kind;
using trace::Record;

void Judge::allocate(const Record& record) {
  ThreadId thread{record.thread};
  const auto& w = record.as<Kind::Alloc>();
  ordering::Range range{w.address, w.address + w.bytes};
  if (range.empty() || w.memory.raw > static_cast<std::uint64_t>(MemoryKind::Array)) return;
  auto kind = static_cast<MemoryKind>(w.memory);
  if (kind == MemoryKind::DeviceAsync) {
    StreamId stream = handles_.stream(w.stream, w.context, thread);
    // Memory allocated during a capture belongs to the graph (R-GRF-40): its life is not modelled.
    if (!handles_.executes(stream)) return model_.forget_freed(range);
    event_misuse_.work(stream);
    // A pool may be another device's.
    model_.allocate_async(call(record), stream, range, !row_of(record).effect.given_pool);
    return;
  }
  if (record.flags & trace::kVariable) {
    const ordering::AllocationInfo* known = model_.find_allocation(range.begin);
    if (known && known->range.contains(range)) return;
  }
  const ordering::ContextId context = handles_.context(w.context, thread);
  // What is mapped or imported may lie on another device than the current one, and a __managed__ variable is one for
  // all.
  const api::EffectKind effect = row_of(record).effect.kind;
  const bool here = effect != api::EffectKind::Map && effect != api::EffectKind::Import &&
                    !(kind == MemoryKind::Managed && (record.flags & trace::kVariable));
  model_.allocate(call(record), range, kind, here ? std::optional(context) : std::nullopt);
}

void Judge::free(const Item& item) {
  const Record& record = *item.record;
  ThreadId thread{record.thread};
  const auto& w = record.as<Kind::Free>();
  ordering::Address base = w.address;
  switch (static_cast<trace::FreeKind>(w.way)) {
    case trace::FreeKind::Async: {
      StreamId stream = handles_.stream(w.stream, w.context, thread);
      if (!handles_.executes(stream)) return;
      event_misuse_.work(stream);
      model_.free_async(call(record), stream, base);
      return;
    }
    case trace::FreeKind::Unmap: {
      ordering::Range range{base, base + w.bytes};
      const ordering::AllocationInfo* known = w.bytes ? nullptr : model_.find_allocation(base);
      if (known) range = known->range;
      if (range.empty()) return;
      model_.unmap(call(record), handles_.context(w.context, thread), range);
      blocks(item);
      return;
    }
    case trace::FreeKind::Device:
    case trace::FreeKind::Host:
    case trace::FreeKind::Unregister:
      model_.free(call(record), handles_.context(w.context, thread), base);
      blocks(item);
      return;
  }
}

ordering::SiteId Judge::site_outside(const Item& item) {
  const Record& record = *item.record;
  if (record.kind == Kind::HostFree) {
    const auto& w = record.as<Kind::HostFree>();
    if (w.way == trace::HostFreeWay::Frame) {
      return places_.site_outside(SiteKind::Return, "", record.stack);
    }
    return places_.site_outside(SiteKind::Function, trace::payload_text(item.payload, 0, w.name_bytes), record.stack);
  }
  if (record.kind != Kind::HostAccess) return pool_call(record).site;
  const auto& w = record.as<Kind::HostAccess>();
  switch (static_cast<trace::AccessWay>(w.way)) {
    case trace::AccessWay::Call:
      return places_.site_outside(SiteKind::Function, trace::payload_text(item.payload, 0, w.name_bytes), record.stack);
    case trace::AccessWay::Content:
      return places_.site_outside(SiteKind::Unseen, "", 0);
    case trace::AccessWay::Instruction:
      break;
  }
  return places_.site_outside(SiteKind::Instruction, "", record.stack);
}

bool Judge::inside_blocking_call(const Record& record) {
  const std::uint64_t* pending = pending_.find(record.thread);
  return pending && *pending != 0;
}

bool Judge::gpu_may_write(ordering::Range range, ThreadId thread) {
  probing_ = true;
  probe_hit_ = false;
  // Only what writes can race with a read.
  model_.host_access({thread, ordering::kNoSite}, range, ordering::AccessMode::Read);
  probing_ = false;
  return probe_hit_;
}

void Judge::host_access(const Item& item) {
  const Record& record = *item.record;
  const auto& w = record.as<Kind::HostAccess>();
  const ordering::Range range{w.address, w.address + w.bytes};
  if (range.empty() || w.way.raw > static_cast<std::uint64_t>(trace::AccessWay::Content)) return;
  const auto way = static_cast<trace::AccessWay>(w.way);
  const bool unseen = way == trace::AccessWay::Content;
  if (host_code_in_streams_ && (unseen || !calls_cuda(record.thread))) return;
  if (unseen && gpu_may_write(range, ThreadId{record.thread})) return;
  model_.host_access({ThreadId{record.thread}, site_outside(item)}, range,
                     w.writes ? ordering::AccessMode::Write : ordering::AccessMode::Read);
}

void Judge::host_free(const Item& item) {
  const Record& record = *item.record;
  const auto& w = record.as<Kind::HostFree>();
  const ordering::Range range{w.address, w.address + w.bytes};
  if (range.empty()) return;
  model_.host_free({ThreadId{record.thread}, site_outside(item)}, range);
}

ordering::Call Judge::pool_call(const Record& record) {
  return {ThreadId{record.thread}, places_.site_outside(SiteKind::Pool, "", record.stack)};
}

void Judge::block_allocate(const Record& record) {
  const auto& w = record.as<Kind::BlockAlloc>();
  const ordering::Range range{w.address, w.address + w.bytes};
  if (range.empty()) return;
  has_own_events_ |= (record.flags & trace::kOwnEvents) != 0;
  if (record.flags & trace::kNoStream) {
    model_.block_allocate_without_stream(pool_call(record), range);
    return;
  }
  if (record.flags & trace::kOnHost) {
    model_.block_allocate(pool_call(record), std::nullopt, range);
    return;
  }
  // A block handed out during a capture belongs to the graph: its life is not modelled.
  const StreamId stream = handles_.stream(w.stream, w.context, ThreadId{record.thread});
  if (!handles_.executes(stream)) return model_.forget_blocks(range);
  model_.block_allocate(pool_call(record), stream, range);
}

void Judge::block_free(const Record& record) {
  const auto& w = record.as<Kind::BlockFree>();
  const ordering::Address base = w.address;
  if (record.flags & trace::kOwnEvents) use_own_events(record);
  if (record.flags & trace::kOnHost) return model_.block_free(pool_call(record), std::nullopt, base);
  if (record.flags & trace::kPutsOff) return model_.block_free_unchecked(pool_call(record), base);
  if (record.flags & trace::kNoStream) return model_.block_free_without_stream(pool_call(record), base);
  const StreamId stream = handles_.stream(w.stream, w.context, ThreadId{record.thread});
  // During a capture it goes back to a pool that waits for nothing yet.
  if (!handles_.executes(stream)) return model_.block_free_unchecked(pool_call(record), base);
  model_.block_free(pool_call(record), stream, base);
}

/// Was the event recorded inside of the function whose return address is the innermost one of the free? Then all of the
/// free's callers are the event's, too, at the same instructions.
static bool is_inside(std::span<const RawFrame> event, std::span<const RawFrame> free) {
  if (free.size() < 2) return false;
  for (std::size_t i = 0; i + 1 < event.size(); ++i) {
    if (event[i].module != free[0].module) continue;
    const std::size_t common = std::min(event.size() - i, free.size());
    const bool equal = std::equal(free.begin() + 1, free.begin() + static_cast<std::ptrdiff_t>(common),
                                  event.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                  [](const RawFrame& a, const RawFrame& b) { return a.address == b.address; });
    if (equal) return true;
  }
  return false;
}

/// A program frees in few places, again and again, and to find the modules of two stacks takes longer than all else
/// that is done for a free.
bool Judge::is_own_event(const EventOfThread& event, ordering::SiteId free) {
  if (own_events_modules_ != places_.modules().size()) {
    own_events_modules_ = places_.modules().size();
    own_events_known_.clear();
  }
  Answer& known = own_events_known_[std::uint64_t{places_.at(free).stack} << 32 | event.stack];
  if (known != Answer::Unknown) return known == Answer::Yes;
  const std::vector<RawFrame> event_frames = places_.frames(places_.site_outside(SiteKind::Pool, "", event.stack));
  const std::vector<RawFrame> free_frames = places_.frames(free);
  const bool inside = is_inside(event_frames, free_frames);
  // Another thread may be about to write what a stack consists of.
  if (!event_frames.empty() && !free_frames.empty()) known = inside ? Answer::Yes : Answer::No;
  return inside;
}

void Judge::use_own_events(const Record& record) {
  const ordering::Call call = pool_call(record);
  for (const EventOfThread& event : own_events_) {
    if (event.thread == record.thread && is_own_event(event, call.site))
      model_.block_use(call, event.stream, record.as<Kind::BlockFree>().address);
  }
  std::erase_if(own_events_, [&](const EventOfThread& event) { return event.thread == record.thread; });
}

void Judge::note_release(const ordering::Hazard& hazard, std::uint32_t kept) {
  if (hazard.kind != ordering::HazardKind::ReleaseWhileInUse || kept == kNotKept) return;
  if (!hazard.earlier.on_stream || !hazard.later.on_stream) return;
  // Not before the use: whoever waits for this has waited for that.
  if (const auto use = model_.last_operation(hazard.earlier.stream)) releases_.add(hazard.later.stream, *use, kept);
}

void Judge::settle_releases(const Record& record) {
  StreamId owner{};
  switch (record.kind) {
    case Kind::EventWait:
    case Kind::Launch:
    case Kind::Copy:
    case Kind::Fill:
    case Kind::HostFunction:
    case Kind::StreamAction:
    case Kind::StreamJoinsAll:
    case Kind::GraphLaunch:
      owner = stream_of(record);
      break;
    case Kind::BlockAlloc: {
      if (record.flags & (trace::kOnHost | trace::kNoStream)) return;
      const auto& w = record.as<Kind::BlockAlloc>();
      owner = handles_.stream(w.stream, w.context, ThreadId{record.thread});
      break;
    }
    default:
      return;
  }
  if (!handles_.executes(owner)) return;
  if (record.kind != Kind::EventWait) return releases_.acted(owner);
  releases_.waited(owner, model_, [this](std::uint32_t kept) { hazards_.withdraw(kept); });
}

void Judge::signal(const Record& record) {
  const ordering::Call call{ThreadId{record.thread}, ordering::kNoSite};
  const auto& w = record.as<Kind::Signal>();
  signalled_[w.object] = true;
  if (record.flags & trace::kOnHost) return model_.signal(call, std::nullopt, w.object);
  if (const StreamId stream = stream_of(record); handles_.executes(stream)) model_.signal(call, stream, w.object);
}

void Judge::await(const Record& record) {
  const ordering::Call call{ThreadId{record.thread}, ordering::kNoSite};
  const auto& w = record.as<Kind::Await>();
  if (record.flags & trace::kOnHost) return model_.await(call, std::nullopt, w.object);
  const StreamId stream = stream_of(record);
  if (!handles_.executes(stream)) return;
  if ((record.flags & trace::kOrEverything) && !signalled_.find(w.object)) {
    model_.stream_joins_all(call, stream);
  } else {
    model_.await(call, stream, w.object);
  }
}

void Judge::stream_action(const Item& item, ordering::Call call, StreamId stream) {
  const auto& w = item.record->as<Kind::StreamAction>();
  std::vector<ordering::BatchPart>& parts = batches_[item.record->thread];
  add_parts(item, parts);
  if (w.more) return;
  if (parts.empty()) {
    // A prefetch only moves what everybody may touch as before.
    model_.stream_action(call, stream, !row_of(*item.record).effect.prefetch);
    if (w.word != 0) value_written(*item.record, call, stream);
    return;
  }
  const bool discards = row_of(*item.record).effect.batch == api::Batch::Discards;
  model_.batch(call, stream, parts, discards ? ordering::AccessSource::Fill : ordering::AccessSource::Copy);
  model_.returned(call.thread, true);
  parts.clear();
}

/// Or for anything else: of such a wait no word is known, nor of any in the trace of an older recorder.
void Judge::wait_for_value(const Record& record, ordering::Call call, StreamId stream) {
  const auto& w = record.as<Kind::StreamJoinsAll>();
  const ordering::OpId op = model_.stream_joins_all(call, stream);
  if (w.word == 0) return;
  value_waits_.wait(stream, static_cast<std::uint64_t>(op),
                    {w.word, w.value, static_cast<std::uint32_t>(w.how), static_cast<unsigned>(w.bits)});
}

void Judge::value_written(const Record& record, ordering::Call call, StreamId stream) {
  const auto& w = record.as<Kind::StreamAction>();
  const ValueWaits::Ended ended = value_waits_.write(stream, w.word, w.value);
  if (!ended.streams.empty()) model_.signal(call, stream, w.word);
  for (const StreamId waited : ended.streams) model_.await(call, waited, w.word);
  for (const std::uint32_t index : ended.harmless) hazards_.withdraw(index);
}

void Judge::sync_context(const Item& item) {
  const Record& record = *item.record;
  const ThreadId thread{record.thread};
  const ordering::ContextId context = handles_.context(record.as<Kind::SyncContext>().context, thread);
  model_.sync_context(call(record), context);
  std::vector<StreamId> covered = value_waits_.waiting();
  std::erase_if(covered, [&](StreamId stream) {
    const StreamLife* life = handles_.life(stream);
    return !life || life->context != context;
  });
  host_waits_for(std::move(covered), thread);
  blocks(item);
}

/// The call that the thread is about to make ends waits for values, once it has returned.
void Judge::host_waits_for(std::vector<StreamId> streams, ThreadId thread) {
  if (value_waits_.waiting().empty()) return;
  awaited_[static_cast<std::uint64_t>(thread)] = {std::move(streams), model_.statistics().operations};
}

void Judge::host_has_waited(ThreadId thread, bool ok) {
  const auto known = awaited_.find(static_cast<std::uint64_t>(thread));
  if (known == awaited_.end()) return;
  if (ok)
    for (const StreamId stream : known->second.first) value_waits_.complete(stream, known->second.second);
  awaited_.erase(known);
}

void Judge::name_memory(const Item& item) {
  const auto& w = item.record->as<Kind::NameMemory>();
  const ordering::Address address = w.address;
  const ordering::AllocationInfo* known = model_.find_block(address);
  if (!known) known = model_.find_allocation(address);
  if (known && known->range.begin != address) return;  // a part has no life of its own
  hazards_.name_memory(address, known ? known->id : ordering::AllocationId{},
                       std::string(trace::payload_text(item.payload, 0, w.name_bytes)));
}

}  // namespace streamsan::judge
