// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps calls of other threads away from a launch that is being measured (gate.h). Launches pass their gate in
// launch.cpp; here pass
//
//   * the launch gate: what has to do with the code of kernels. While that is patched, no other thread may launch a
//     kernel, nor make, change or upload a graph that runs one: it may keep where the code is. And what begins a
//     capture: our own calls would end it;
//   * the wait gate: calls after which a stream may wait for an event of another device or process, for a value in
//     memory, for a semaphore or for a host function, and so perhaps for the thread that measures. That thread changes
//     code once all streams were idle (footprints/agent.cpp), and would wait for such a stream. And what destroys a
//     stream: the agent asks streams whether they are idle.
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

/// After such a call, may the stream wait for what another thread, device or process does later? Not a launch of a
/// graph, which may do the same: it passes the launch gate.
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
  static constexpr const api::Row& kDescription = api::kRows[Call::kRow];
  static constexpr bool kBegins = Call::kKind == api::EffectKind::CaptureBegin;
  static constexpr bool kEnds = Call::kKind == api::EffectKind::CaptureEnd;
  static constexpr bool kIsLaunch = kBegins || needs_code(kDescription);
  static constexpr bool kIsWait = may_wait_long(kDescription) || Call::kKind == api::EffectKind::StreamDestroy;

 public:
  static constexpr bool kWatches = kIsLaunch || kIsWait || kEnds;

  SS_OBSERVER void before(Call& call) {
    gated_ = !kEnds && learning();
    if (gated_) gate().enter();
    if (gated_ && Call::kKind != api::EffectKind::StreamDestroy) note_stream(call);
    if constexpr (kBegins) capture_begins();
  }
  SS_OBSERVER void after(Call& call) {
    if (kBegins && call.result != CUDA_SUCCESS) capture_ended();
    if (gated_) gate().leave();
    if (kEnds && ends_capture(call.result)) capture_ended();
  }
  SS_OBSERVER void failed(Call& call) { after(call); }

 private:
  static constexpr Gate& gate() { return kIsLaunch ? g_launch_gate : g_wait_gate; }

  /// Whoever closes the gate next must find the stream that may be waiting. Its record is made too late for that.
  SS_OBSERVER static void note_stream(Call& call) {
    if constexpr (Call::kKind == api::EffectKind::ContextWait || Call::kKind == api::EffectKind::LaunchList) {
      lose_streams_in_use();
    } else if constexpr (Call::kEffect.stream != api::kAbsent) {
      const std::uint64_t stream = word<Call::kEffect.stream>(call.arguments);
      // If nobody knows the stream, the driver may refuse it.
      if (!known_stream(stream, kDescription.default_stream).handle) lose_streams_in_use();
    }
  }

  bool gated_ = false;
};

}  // namespace streamsan::recorder
