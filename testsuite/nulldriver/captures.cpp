// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a capture refuses. A refused call does nothing, and invalidates every capture that refused it.
//
// In any mode, because it concerns the captured streams:
//   900  waiting for a captured stream or asking about one; waiting for their context
//   906  the legacy stream while a blocking stream is captured: work, waiting and asking
// and by the mode of the capture and that of the thread (cuThreadExchangeStreamCaptureMode), of what could be unsafe:
//   900  waiting for any stream or event and asking about any; allocation and free; stream-ordered allocation outside
//
// That is what a real driver was seen to do (testsuite/gpu/programs/capture_modes.cu). It was asked from the capturing
// thread only: what other threads may do is as documented. Not refused, because nobody has asked: stream-ordered frees
// outside, memory pools, virtual memory, loading of code, the end of events and contexts.

#include "testsuite/nulldriver/objects.h"

#include <algorithm>
#include <utility>

namespace streamsan::null {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/// Invalidates those that meet the condition; is there one?
template <class Condition>
bool invalidate_all(Condition condition) {
  bool any = false;
  for (Capture* capture : state().captures) {
    if (!condition(*capture)) continue;
    capture->invalid = true;
    any = true;
  }
  return any;
}

/// The legacy stream would have to wait for it.
bool holds_back_legacy(const Capture& capture, CUcontext context) {
  return std::ranges::any_of(capture.streams, [context](CUstream stream) {
    return stream->context == context && (stream->flags & CU_STREAM_NON_BLOCKING) == 0;
  });
}

bool refuses_unsafe_calls(const Capture& capture) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == thread_number()) return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

}  // namespace

bool is_held_back(CUstream stream) {
  return stream == stream->context->legacy && std::ranges::any_of(state().captures, [stream](const Capture* capture) {
           return holds_back_legacy(*capture, stream->context);
         });
}

CUresult resolve_for_work(CUstream handle, CUstream default_stream, CUstream* stream) {
  if (const CUresult unknown = resolve(handle, default_stream, stream); unknown != CUDA_SUCCESS) return unknown;
  if (!is_held_back(*stream)) return CUDA_SUCCESS;
  invalidate_all([stream](const Capture& capture) { return holds_back_legacy(capture, (*stream)->context); });
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult resolve_uncaptured(CUstream handle, CUstream default_stream, CUstream* stream) {
  if (const CUresult refused = resolve_for_work(handle, default_stream, stream); refused != CUDA_SUCCESS) {
    return refused;
  }
  if (!(*stream)->capture) return CUDA_SUCCESS;
  (*stream)->capture->invalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult resolve_for_waiting(CUstream handle, CUstream default_stream, CUstream* stream) {
  const CUresult refused = resolve_uncaptured(handle, default_stream, stream);
  return refused != CUDA_SUCCESS ? refused : check_unsafe();
}

CUresult check_unsafe() {
  return invalidate_all(refuses_unsafe_calls) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult check_context_wait(CUcontext context) {
  const bool refused = invalidate_all([context](const Capture& capture) {
    return refuses_unsafe_calls(capture) ||
           std::ranges::any_of(capture.streams, [context](CUstream stream) { return stream->context == context; });
  });
  return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

void leave_capture(CUstream stream) {
  if (!stream->capture) return;
  Capture& capture = *stream->capture;
  capture.invalid = true;
  std::erase(capture.streams, stream);
  if (capture.origin == stream) std::erase(state().captures, &capture);
}

}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  SS_CALL(cuThreadExchangeStreamCaptureMode);
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::swap(*mode, thread_mode);
  return CUDA_SUCCESS;
}
