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
#include <tuple>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/decode.h"
#include "interposer/launch_call.h"
#include "interposer/streams.h"
#include "ordering/api/row.h"

namespace streamsan::recorder {

/// Would a call of this kind have made work or order?
constexpr bool makes_work_or_order(api::EffectKind kind) {
  using api::EffectKind;
  return is_launch(kind) || kind == EffectKind::Copy || kind == EffectKind::Copy2D || kind == EffectKind::Copy3D ||
         kind == EffectKind::Fill || kind == EffectKind::Fill2D || kind == EffectKind::AllocAsync ||
         kind == EffectKind::FreeAsync || kind == EffectKind::EventRecord || kind == EffectKind::EventWait ||
         kind == EffectKind::SyncStream || kind == EffectKind::SyncEvent || kind == EffectKind::SyncContext ||
         kind == EffectKind::HostFunction || kind == EffectKind::StreamAction || kind == EffectKind::StreamJoinsAll ||
         kind == EffectKind::GraphLaunch;
}

/// Results that say nothing about the program's order: work that is still under way, what a capture does not allow (a
/// capture that is spoiled fails as a whole, and loudly), and a driver that is gone at the end of the process.
constexpr bool is_ordinary(CUresult result) {
  return result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY || result == CUDA_ERROR_DEINITIALIZED ||
         (result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

/// Of one row the `number`th failure, counted from 1: is it written?
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

/// In the child of a fork: counts begin anew.
void forget_failed_calls();

/// The object of a row's call, as CallFailed has it: what the call is about apart from the stream.
template <std::size_t kRow, class Arguments>
std::uint64_t object_of_failure(const Arguments& arguments) {
  using api::EffectKind;
  constexpr api::Effect kEffect = api::kRows[kRow].effect;
  if constexpr (kEffect.event != api::kAbsent) {
    return word<kEffect.event>(arguments);
  } else if constexpr (kEffect.kind == EffectKind::Copy || kEffect.kind == EffectKind::Fill ||
                       kEffect.kind == EffectKind::Fill2D) {
    return word<kEffect.dst>(arguments);
  } else if constexpr (kEffect.kind == EffectKind::AllocAsync) {
    return 0;  // an out-parameter, which a failed call leaves as it was
  } else {
    return word<kEffect.object>(arguments);
  }
}

/// After every call of a row that makes_work_or_order(). One comparison if the call succeeded.
template <std::size_t kRow, class Arguments>
void record_failure(const Arguments& arguments, CUresult result, const void* frame) {
  using api::EffectKind;
  constexpr api::Effect kEffect = api::kRows[kRow].effect;
  if constexpr (makes_work_or_order(kEffect.kind)) {
    if (is_ordinary(result)) [[likely]]
      return;
    FailedCall call{.api = static_cast<std::uint16_t>(kRow),
                    .result = result,
                    .in_stream = kEffect.kind != EffectKind::SyncEvent && kEffect.kind != EffectKind::SyncContext,
                    .stream = word<kEffect.stream>(arguments),
                    .object = object_of_failure<kRow>(arguments)};
    if constexpr (kEffect.kind == EffectKind::LaunchConfig) {
      const CUlaunchConfig* config = std::get<static_cast<std::size_t>(kEffect.src)>(arguments);
      call.in_stream = config != nullptr;
      if (config) call.stream = reinterpret_cast<std::uint64_t>(config->hStream);
    }
    write_failed_call(call, frame);
  }
}

}  // namespace streamsan::recorder
