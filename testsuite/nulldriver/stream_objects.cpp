// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and events as objects: creation, destruction, and the questions about an event that name no stream.

#include "testsuite/nulldriver/objects.h"

#include <algorithm>

namespace streamsan::null {
namespace {

constexpr int kGreatestPriority = -5;

CUresult create_stream(CUstream* out, unsigned flags, int priority) {
  if (out == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  CUstream stream = state().streams.create();
  stream->context = context;
  stream->flags = flags;
  stream->priority = std::clamp(priority, kGreatestPriority, 0);
  stream->id = state().next_id++;
  *out = stream;
  return CUDA_SUCCESS;
}

/// An event recorded in a capture has no time and cannot be waited for by the host.
CUresult check_event(CUevent event) {
  if (!state().events.alive(event)) return CUDA_ERROR_INVALID_HANDLE;
  if (event->capture) {
    event->capture->invalid = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return CUDA_SUCCESS;
}

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  for (CUevent event : {start, end}) {
    if (const CUresult wrong = check_event(event); wrong != CUDA_SUCCESS) return wrong;
    if (!event->recorded || (event->flags & CU_EVENT_DISABLE_TIMING) != 0) return CUDA_ERROR_INVALID_HANDLE;
  }
  if (start->context->device != end->context->device) return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuStreamCreate(CUstream* stream, unsigned flags) {
  SS_CALL(cuStreamCreate);
  return create_stream(stream, flags, 0);
}

SS_EXPORT cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  SS_CALL(cuStreamCreateWithPriority);
  return create_stream(stream, flags, priority);
}

SS_EXPORT cuStreamDestroy(CUstream stream) {
  SS_CALL(cuStreamDestroy);
  const Lock lock = lock_state();
  if (!state().streams.alive(stream)) return CUDA_ERROR_INVALID_HANDLE;
  destroy_stream(stream);
  return CUDA_SUCCESS;
}

SS_EXPORT cuEventCreate(CUevent* out, unsigned flags) {
  SS_CALL(cuEventCreate);
  constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (out == nullptr || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  CUevent event = state().events.create();
  event->context = context;
  event->flags = flags;
  *out = event;
  return CUDA_SUCCESS;
}

SS_EXPORT cuEventDestroy(CUevent event) {
  SS_CALL(cuEventDestroy);
  const Lock lock = lock_state();
  if (!state().events.alive(event)) return CUDA_ERROR_INVALID_HANDLE;
  state().events.destroy(event);
  return CUDA_SUCCESS;
}

/// A never-recorded event counts as complete.
SS_EXPORT cuEventQuery(CUevent event) {
  SS_CALL(cuEventQuery);
  const Lock lock = lock_state();
  const CUresult wrong = check_event(event);
  return wrong != CUDA_SUCCESS ? wrong : check_unsafe();
}

SS_EXPORT cuEventSynchronize(CUevent event) {
  SS_CALL(cuEventSynchronize);
  {
    const Lock lock = lock_state();
    if (const CUresult wrong = check_event(event); wrong != CUDA_SUCCESS) return wrong;
    if (const CUresult refused = check_unsafe(); refused != CUDA_SUCCESS) return refused;
  }
  block();
  return CUDA_SUCCESS;
}

SS_EXPORT cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  SS_CALL(cuEventElapsedTime);
  return elapsed(milliseconds, start, end);
}

// The shape before CUDA 12.8: another export, the same arguments.
#undef cuEventElapsedTime
SS_EXPORT cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  SS_CALL(cuEventElapsedTime);
  return elapsed(milliseconds, start, end);
}
