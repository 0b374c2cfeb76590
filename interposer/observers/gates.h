// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps calls of other threads away from a launch that is being measured. While the kernels' code is patched, no other
// thread may launch a kernel, nor make, change or upload a graph that runs one: it may keep where the code is. While a
// launch is measured, no other thread may begin a capture. Launches pass the gate in launch.cpp.
#pragma once

#include "interposer/call.h"
#include "interposer/gate.h"
#include "interposer/learning.h"

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

template <class Call>
class Gates {
  static constexpr bool kBegins = Call::kKind == api::EffectKind::CaptureBegin;
  static constexpr bool kEnds = Call::kKind == api::EffectKind::CaptureEnd;

 public:
  static constexpr bool kWatches = kBegins || kEnds || needs_code(api::kRows[Call::kRow]);

  SS_OBSERVER void before(Call&) {
    gated_ = !kEnds && learning();
    if (gated_) Gate::enter();
    if constexpr (kBegins) capture_begins();
  }
  SS_OBSERVER void after(Call& call) {
    if (kBegins && call.result != CUDA_SUCCESS) capture_ended();
    if (gated_) Gate::leave();
    if (kEnds && ends_capture(call.result)) capture_ended();
  }
  SS_OBSERVER void failed(Call& call) { after(call); }

 private:
  bool gated_ = false;
};

}  // namespace streamsan::recorder
