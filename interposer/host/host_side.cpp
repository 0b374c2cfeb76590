// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/host_side.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstring>

#include "interposer/decode.h"
#include "interposer/driver.h"
#include "interposer/graph_image.h"
#include "interposer/host/libc_frames.h"
#include "interposer/host/loans.h"
#include "interposer/pointer_regions.h"
#include "interposer/process.h"
#include "ordering/api/row.h"
#include "ordering/types.h"

namespace streamsan::recorder {
namespace {

using trace::Kind;

bool is_asynchronous(const CallWords& call) { return (call.flags & trace::kAsyncForm) != 0; }

api::Direction direction_of(const CallWords& copy) {
  return static_cast<api::Direction>(copy.flags >> trace::kDirectionShift & 7);
}

void lend_side(const CallWords& call, std::uint64_t begin, std::uint64_t bytes, LoanUse use, bool pageable,
               const void* callers_stack) {
  // Between the rows of a shape lie bytes that it does not touch.
  lend(begin, bytes, use, stream_of(call), pageable,
       {.position = call.position, .touches_all = call.as<Kind::Copy>().shaped == 0});
  if (pageable && options().host_frees) note_stack_loan(reinterpret_cast<const void*>(begin), bytes, callers_stack);
}

void note_copy(const CallWords& call, const void* callers_stack) {
  if (host_waited_in(call)) stream_waited_for(stream_of(call));
  if (!is_asynchronous(call)) return;
  const api::Direction direction = direction_of(call);
  const bool host_dst = direction == api::Direction::DeviceToHost;
  const bool host_src = direction == api::Direction::HostToDevice;
  const auto& w = call.as<Kind::Copy>();
  // Where the call does not say which side is on the host: an address far from every allocation is pageable.
  const bool by_address = direction == api::Direction::ByAddress || direction == api::Direction::Array;
  lend_side(call, w.dst, extent(w, call.shape, call.shape.dst_pitch, call.shape.dst_slice), LoanUse::Writes,
            host_dst || (by_address && !may_be_pointer(w.dst)), callers_stack);
  lend_side(call, w.src, extent(w, call.shape, call.shape.src_pitch, call.shape.src_slice), LoanUse::Reads,
            host_src || (by_address && !may_be_pointer(w.src)), callers_stack);
}

void note_fill(const CallWords& call) {
  const auto& w = call.as<Kind::Fill>();
  const std::uint64_t rows = w.pitch ? w.height : 1;
  const std::uint64_t bytes = w.width + (rows > 1 ? (rows - 1) * w.pitch : 0);
  // The synchronous form does not wait either, except for pinned memory (R-CPY-50), where it costs nothing to ask.
  lend(w.dst, bytes, LoanUse::Writes, stream_of(call), false, {.position = call.position, .touches_all = rows <= 1});
}

/// The context whose memory goes away with the call; 0: it may live on.
std::uint64_t dying_context(const CallWords& call) {
  const api::ContextEnd ends = api::kRows[call.api].effect.ends;
  if (ends == api::ContextEnd::Given) return call.as<Kind::ContextDestroy>().context;
  // Of a device: of the one whose primary context is current, as cudaDeviceReset() is used.
  return ends == api::ContextEnd::Primary || is_exiting() ? current_context() : 0;
}

void note_allocation(const CallWords& call) {
  const auto& w = call.as<Kind::Alloc>();
  const ordering::MemoryKind kind = w.memory;
  if (is_host_memory(kind)) host_memory_given(kind, w.address, w.bytes, w.context);
}

}  // namespace

CallWords::CallWords(Slot slot) : empty(!slot) {
  if (empty) return;
  kind = slot.record->kind;
  flags = slot.record->flags;
  api = slot.record->api;
  position = slot.position;
  std::memcpy(w, slot.record->w, sizeof w);
  if (kind != Kind::Copy) return;
  auto& copy = *reinterpret_cast<trace::Words<Kind::Copy>*>(w);
  if (copy.shaped) std::memcpy(&shape, slot.continuation(), sizeof shape);
  // An array is no memory of the host's.
  if (ordering::is_array_address(copy.dst)) copy.dst = 0;
  if (ordering::is_array_address(copy.src)) copy.src = 0;
}

StreamArgument stream_of(const CallWords& call) { return {call.in_stream().stream, call.in_stream().context, 0}; }

bool host_waited_in(const CallWords& copy) {
  if (is_asynchronous(copy)) return false;
  // Where the host takes part.
  const api::Direction direction = direction_of(copy);
  const auto& w = copy.as<Kind::Copy>();
  return direction == api::Direction::DeviceToHost || direction == api::Direction::HostToDevice ||
         near_host_memory(w.dst) || near_host_memory(w.src);
}

bool is_host_memory(ordering::MemoryKind kind) {
  using ordering::MemoryKind;
  return kind == MemoryKind::Pinned || kind == MemoryKind::Registered || kind == MemoryKind::Managed;
}

void look_at_devices() {
  const auto count_devices = SS_DRIVER(cuDeviceGetCount);
  const auto ask = SS_DRIVER(cuDeviceGetAttribute);
  int devices = 0;
  if (!options().host_guard || !count_devices || !ask || count_devices(&devices) != CUDA_SUCCESS) return;
  for (CUdevice device = 0; device < devices; ++device) {
    int uses = 0;
    if (ask(&uses, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device) != CUDA_SUCCESS || !uses)
      continue;
    guard_nothing();
    if (options().verbosity >= 1)
      say("no page of host memory is guarded: device %d uses the host's page tables", device);
    return;
  }
}

void host_side_before(const CallWords& call) {
  if (call.empty) return;
  if (call.kind == Kind::Free && call.as<Kind::Free>().way != trace::FreeKind::Async) {
    host_memory_going(call.as<Kind::Free>().address);
  } else if (call.kind == Kind::ContextDestroy) {
    end_loans_with_context(dying_context(call));
  } else if (call.kind == Kind::Unload) {
    end_loans_of_variables();
  }
}

void host_side_after(const CallWords& call, const void* callers_stack) {
  if (call.empty) return;
  switch (call.kind) {
    case Kind::Copy:
      return note_copy(call, callers_stack);
    case Kind::Fill:
      return note_fill(call);
    case Kind::Alloc:
      return note_allocation(call);
    case Kind::GraphLaunch:
      return lend_to_graph(call.as<Kind::GraphLaunch>().exec, stream_of(call), call.position);
    case Kind::EventRecord:
      return event_recorded(call.as<Kind::EventRecord>().event, stream_of(call));
    case Kind::SyncStream:
    case Kind::QueryStream:
      return stream_waited_for(stream_of(call));
    case Kind::SyncEvent:
    case Kind::QueryEvent:
      return event_waited_for(call.as<Kind::SyncEvent>().event);
    case Kind::SyncContext:
      return context_waited_for(call.as<Kind::SyncContext>().context);
    default:
      return;
  }
}

void host_side_of_part(const CallWords& batch, const trace::BatchPart& part, const void* callers_stack) {
  if (batch.empty) return;
  const auto lend_part = [&](std::uint64_t begin, std::uint64_t pitch, std::uint64_t slice, LoanUse use) {
    const std::uint64_t rows = part.height > 1 ? (part.height - 1) * pitch : 0;
    const std::uint64_t slices = part.depth > 1 ? (part.depth - 1) * slice : 0;
    const std::uint64_t bytes = begin == 0 || part.width == 0 ? 0 : part.width + rows + slices;
    const bool pageable = !may_be_pointer(begin);
    if (bytes == 0) return;
    lend(begin, bytes, use, stream_of(batch), pageable,
         {.position = batch.position, .touches_all = rows == 0 && slices == 0});
    if (pageable && options().host_frees) note_stack_loan(reinterpret_cast<const void*>(begin), bytes, callers_stack);
  };
  lend_part(part.dst, part.dst_pitch, part.dst_slice, LoanUse::Writes);
  if (static_cast<trace::SourceOrder>(part.order) != trace::SourceOrder::DuringCall)
    lend_part(part.src, part.src_pitch, part.src_slice, LoanUse::Reads);
}

}  // namespace streamsan::recorder
