// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps calls of other threads away from a launch that is being measured. Launches pass the gate in launch.cpp; here
// pass
//
//   * what has to do with the code of kernels. While that is patched, no other thread may launch a kernel, nor make,
//     change or upload a graph that runs one: it may keep where the code is;
//   * what a stream may wait for without end: an event (of another device, or process), a word, a host function. The
//     code is changed on the guest's own thread, once the GPU was seen to be idle (footprints/agent.cpp). If the GPU
//     got such work then, the change would wait for it, and it perhaps for this thread;
//   * destroying a stream: the agent asks streams whether they are idle;
//   * what begins a capture: our own calls would end it.
#pragma once

#include "interposer/call.h"
#include "interposer/decode.h"
#include "interposer/gate.h"
#include "interposer/learning.h"
#include "interposer/streams.h"

namespace streamsan::recorder {

/// True if the call ended the capture. A failed EndCapture does so too (R-GRF-10), unless the driver rejected the call.
constexpr bool ends_capture(CUresult result) {
  return result != CUDA_ERROR_ILLEGAL_STATE && result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD &&
         result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_INVALID_HANDLE &&
         result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
}

/// Does a call of this row have to do with the code of kernels, beside those that are recorded as launches?
constexpr bool needs_code(const api::Row& row) {
  switch (row.effect.kind) {
    case api::EffectKind::GraphLaunch:
    case api::EffectKind::GraphInstantiate:
    case api::EffectKind::GraphUpdate:
    case api::EffectKind::GraphNodeUpdate:
    case api::EffectKind::LaunchList:
    case api::EffectKind::Later:  // not modelled: some launch kernels
      return true;
    case api::EffectKind::StreamAction:
      return row.effect.runs_code;  // not writes, for which a kernel may wait
    default:
      return false;
  }
}

/// Could the stream have to wait in it for what another thread, device or process does later?
constexpr bool may_wait_long(const api::Row& row) {
  switch (row.effect.kind) {
    case api::EffectKind::EventWait:
    case api::EffectKind::ContextWait:
    case api::EffectKind::StreamJoinsAll:
    case api::EffectKind::HostFunction:
      return true;
    default:
      return false;
  }
}

template <class Call>
class Gates {
  static constexpr bool kBegins = Call::kKind == api::EffectKind::CaptureBegin;
  static constexpr bool kEnds = Call::kKind == api::EffectKind::CaptureEnd;

 public:
  static constexpr bool kWaits = may_wait_long(api::kRows[Call::kRow]);
  static constexpr bool kWatches =
      kBegins || kEnds || kWaits || needs_code(api::kRows[Call::kRow]) || Call::kKind == api::EffectKind::StreamDestroy;

  SS_OBSERVER void before(Call& call) {
    gated_ = !kEnds && learning();
    if (gated_) Gate::enter();
    if (kWaits && gated_) note_wait(call);
    if constexpr (kBegins) capture_begins();
  }
  SS_OBSERVER void after(Call& call) {
    if (kBegins && call.result != CUDA_SUCCESS) capture_ended();
    if (gated_) Gate::leave();
    if (kEnds && ends_capture(call.result)) capture_ended();
  }
  SS_OBSERVER void failed(Call& call) { after(call); }

 private:
  /// Whoever closes the gate next must find the stream that may be waiting. Its record is made too late for that.
  SS_OBSERVER static void note_wait(Call& call) {
    if constexpr (Call::kKind == api::EffectKind::ContextWait) {
      lose_streams_in_use();
    } else if constexpr (kWaits) {
      resolve_stream(word<Call::kEffect.stream>(call.arguments), api::kRows[Call::kRow].default_stream);
    }
  }

  bool gated_ = false;
};

}  // namespace streamsan::recorder
