// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that should have submitted work or made order, and returned an error: one CallFailed record each, after the
// call.
//
// A failed call did nothing, so it has no record of its effect (that of a Begin row is cancelled). But a program that
// does not look at the result goes on as if the event were recorded or the stream did wait; the judge names the failed
// call beside the race that follows from it.
//
// Not written: failures of calls that make neither work nor order (creating, looking up, asking, freeing by the host),
// and results that are part of normal life, see is_ordinary(). A program that fails in a loop must not fill the trace:
// of each row the first 64 are written, and from then on those whose number is a power of two.
//
// The record names the stream only if the recorder knows its handle: the arguments of a failed call may be anything,
// and the recorder does not ask the driver about them.
#pragma once

#include <cstdint>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/launch_call.h"
#include "ordering/api/results.h"
#include "ordering/api/row.h"

namespace streamsan::recorder {

/// Would a call of this kind have made work or order?
constexpr bool makes_work_or_order(api::EffectKind kind) {
  using api::EffectKind;
  return is_launch(kind) || kind == EffectKind::Copy || kind == EffectKind::Copy2D || kind == EffectKind::Copy3D ||
         kind == EffectKind::Fill || kind == EffectKind::Fill2D || kind == EffectKind::AllocAsync ||
         kind == EffectKind::FreeAsync || kind == EffectKind::EventRecord || kind == EffectKind::EventWait ||
         kind == EffectKind::ContextRecord || kind == EffectKind::ContextWait || kind == EffectKind::LaunchList ||
         kind == EffectKind::SyncStream || kind == EffectKind::SyncEvent || kind == EffectKind::SyncContext ||
         kind == EffectKind::HostFunction || kind == EffectKind::StreamAction || kind == EffectKind::StreamJoinsAll ||
         kind == EffectKind::GraphLaunch;
}

/// Is such a call in a stream, which an argument names or which is the default stream?
constexpr bool is_in_stream(api::EffectKind kind) {
  using api::EffectKind;
  return kind != EffectKind::SyncEvent && kind != EffectKind::SyncContext && kind != EffectKind::ContextRecord &&
         kind != EffectKind::ContextWait && kind != EffectKind::LaunchList;
}

/// Results that say nothing about the program's order: work that is still under way, what a capture does not allow (a
/// capture that is spoiled fails as a whole, and loudly), and a driver that is gone at the end of the process.
constexpr bool is_ordinary(CUresult result) {
  return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY || result == CUDA_ERROR_DEINITIALIZED ||
         (result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

/// Does a call of this kind end memory that work in flight may use?
constexpr bool ends_memory(api::EffectKind kind) {
  using api::EffectKind;
  return kind == EffectKind::Free || kind == EffectKind::FreeHost || kind == EffectKind::Unregister ||
         kind == EffectKind::Unmap || kind == EffectKind::ArrayFree;
}

/// Is a call that failed so recorded as if it had succeeded? A free that returns an error which ends its context has
/// most likely made it: the memory of another device's kernel was gone under it (seen on two H200). Nothing that comes
/// behind is checked, so taking the free for done cannot mislead.
constexpr bool has_done_its_work(api::EffectKind kind, CUresult result) {
  return ends_memory(kind) && api::ends_context(static_cast<std::uint32_t>(result));
}

/// Is the `number`th failure of one row written, counted from 1?
constexpr bool is_written_failure(std::uint32_t number) { return number <= 64 || (number & (number - 1)) == 0; }

struct FailedCall {
  std::uint16_t api;
  CUresult result;  ///< not is_ordinary()
  bool in_stream;   ///< the row has a stream, which `stream` (as it was passed) means
  std::uint64_t stream;
  std::uint64_t object;  ///< event, executable graph, kernel handle, address; 0: none
};

/// `frame`: __builtin_frame_address(0) of the wrapper.
void write_failed_call(const FailedCall& call, const void* frame);

}  // namespace streamsan::recorder
