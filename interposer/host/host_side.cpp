// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/host/host_side.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstring>
#include <string_view>

#include "interposer/driver.h"
#include "interposer/host/libc_frames.h"
#include "interposer/host/loans.h"
#include "interposer/pointer_regions.h"
#include "interposer/process.h"
#include "ordering/api/row.h"
#include "ordering/types.h"

namespace streamsan::recorder {
namespace {

using trace::Kind;

StreamArgument stream_of(const CallWords& call) { return {call.w[0], call.w[1], 0}; }

bool is_asynchronous(const CallWords& call) { return (call.flags & trace::kAsyncForm) != 0; }

/// Bytes from the first to behind the last that one side of a copy touches.
std::uint64_t extent(const CallWords& call, std::uint64_t pitch, std::uint64_t slice) {
  if (call.w[5] == 0) return call.w[4];
  const std::uint64_t rows = call.shape[2];
  const std::uint64_t slices = call.shape[5];
  return call.w[4] + (rows > 1 ? (rows - 1) * pitch : 0) + (slices > 1 ? (slices - 1) * slice : 0);
}

void lend_side(const CallWords& call, std::uint64_t begin, std::uint64_t bytes, LoanUse use, bool pageable,
               const void* callers_stack) {
  // Between the rows of a shape lie bytes that it does not touch.
  lend(begin, bytes, use, stream_of(call), pageable, {.position = call.position, .touches_all = call.w[5] == 0});
  if (pageable && options().host_frees) note_stack_loan(reinterpret_cast<const void*>(begin), bytes, callers_stack);
}

void note_copy(const CallWords& call, const void* callers_stack) {
  const auto direction = static_cast<api::Direction>(call.flags >> trace::kDirectionShift & 7);
  const bool host_dst = direction == api::Direction::DeviceToHost;
  const bool host_src = direction == api::Direction::HostToDevice;
  if (!is_asynchronous(call)) {
    // R-CPY-01..05: where the host takes part it has waited for the stream.
    if (host_dst || host_src || near_host_memory(call.w[2]) || near_host_memory(call.w[3]))
      stream_waited_for(stream_of(call));
    return;
  }
  // Where the call does not say which side is on the host: an address far from every allocation is pageable.
  const bool by_address = direction == api::Direction::ByAddress || direction == api::Direction::Array;
  lend_side(call, call.w[2], extent(call, call.shape[0], call.shape[3]), LoanUse::Writes,
            host_dst || (by_address && !may_be_pointer(call.w[2])), callers_stack);
  lend_side(call, call.w[3], extent(call, call.shape[1], call.shape[4]), LoanUse::Reads,
            host_src || (by_address && !may_be_pointer(call.w[3])), callers_stack);
}

void note_fill(const CallWords& call) {
  const std::uint64_t rows = call.w[4] ? call.w[5] : 1;
  const std::uint64_t bytes = call.w[3] + (rows > 1 ? (rows - 1) * call.w[4] : 0);
  // The synchronous form does not wait either, except for pinned memory (R-CPY-50), where it costs nothing to ask.
  lend(call.w[2], bytes, LoanUse::Writes, stream_of(call), false,
       {.position = call.position, .touches_all = rows <= 1});
}

/// The context whose memory goes away with the call; 0: it may live on.
std::uint64_t dying_context(const CallWords& call) {
  const std::string_view base = api::kRows[call.api].base;
  if (base == "cuCtxDestroy") return call.w[0];
  // Of a device: of the one whose primary context is current, as cudaDeviceReset() is used.
  return base == "cuDevicePrimaryCtxReset" || is_exiting() ? current_context() : 0;
}

void note_allocation(const CallWords& call) {
  using ordering::MemoryKind;
  const auto kind = static_cast<MemoryKind>(call.w[2]);
  if (kind == MemoryKind::Pinned || kind == MemoryKind::Registered || kind == MemoryKind::Managed)
    host_memory_given(kind, call.w[0], call.w[1], call.w[4]);
}

}  // namespace

CallWords::CallWords(const Slot& slot) : empty(!slot) {
  if (empty) return;
  kind = slot.record->kind;
  flags = slot.record->flags;
  api = slot.record->api;
  position = slot.position;
  std::memcpy(w, slot.record->w, sizeof w);
  if (kind == Kind::Copy && w[5]) std::memcpy(shape, slot.continuation(), sizeof shape);
}

void look_at_devices() {
  const auto count_devices = reinterpret_cast<decltype(&::cuDeviceGetCount)>(driver_entry(api::Index::cuDeviceGetCount));
  const auto ask =
      reinterpret_cast<decltype(&::cuDeviceGetAttribute)>(driver_entry(api::Index::cuDeviceGetAttribute));
  int devices = 0;
  if (!options().host_guard || !count_devices || !ask || count_devices(&devices) != CUDA_SUCCESS) return;
  for (CUdevice device = 0; device < devices; ++device) {
    int uses = 0;
    if (ask(&uses, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device) != CUDA_SUCCESS || !uses)
      continue;
    guard_nothing();
    if (options().verbosity >= 1) say("no page of host memory is guarded: device %d uses the host's page tables", device);
    return;
  }
}

void host_side_before(const CallWords& call) {
  if (call.empty) return;
  if (call.kind == Kind::Free && static_cast<trace::FreeKind>(call.w[2]) != trace::FreeKind::Async) {
    host_memory_going(call.w[0]);
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
    case Kind::EventRecord:
      return event_recorded(call.w[2], stream_of(call));
    case Kind::SyncStream:
    case Kind::QueryStream:
      return stream_waited_for(stream_of(call));
    case Kind::SyncEvent:
    case Kind::QueryEvent:
      return event_waited_for(call.w[0]);
    case Kind::SyncContext:
      return context_waited_for(call.w[0]);
    default:
      return;
  }
}

}  // namespace streamsan::recorder
