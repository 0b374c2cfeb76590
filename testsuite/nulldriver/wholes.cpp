// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls about all streams of a context, or those of a list; external semaphores. As work is done when it is submitted,
// an event of a context is recorded at once, and nothing waits.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>

#include "testsuite/nulldriver/objects.h"

namespace streamsan::null {
namespace {

/// Both calls spoil captures of the context; here they only fail.
CUresult check_event(CUcontext context, CUevent event) {
  if (!state().contexts.alive(context)) return CUDA_ERROR_INVALID_CONTEXT;
  if (!state().events.alive(event)) return CUDA_ERROR_INVALID_HANDLE;
  return check_context_wait(context);
}

}  // namespace

std::map<CUexternalSemaphore, std::uint64_t>& semaphore_values() {
  static auto& instance = *new std::map<CUexternalSemaphore, std::uint64_t>;
  return instance;
}

}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuCtxRecordEvent(CUcontext context, CUevent event) {
  SS_CALL(cuCtxRecordEvent);
  const Lock lock = lock_state();
  if (const CUresult wrong = check_event(context, event); wrong != CUDA_SUCCESS) return wrong;
  if (event->context != context) return CUDA_ERROR_INVALID_HANDLE;
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  event->capture.reset();
  event->tail.clear();
  return CUDA_SUCCESS;
}

SS_EXPORT cuCtxWaitEvent(CUcontext context, CUevent event) {
  SS_CALL(cuCtxWaitEvent);
  const Lock lock = lock_state();
  return check_event(context, event);
}

SS_EXPORT cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list, unsigned count, unsigned) {
  SS_CALL(cuLaunchCooperativeKernelMultiDevice);
  if (list == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto is_special = [](const CUDA_LAUNCH_PARAMS& one) {
    return one.hStream == nullptr || one.hStream == CU_STREAM_LEGACY || one.hStream == CU_STREAM_PER_THREAD;
  };
  if (std::any_of(list, list + count, is_special)) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const CUDA_LAUNCH_PARAMS& one = list[i];
    const CUresult result =
        cuLaunchCooperativeKernel(one.function, one.gridDimX, one.gridDimY, one.gridDimZ, one.blockDimX, one.blockDimY,
                                  one.blockDimZ, one.sharedMemBytes, one.hStream, one.kernelParams);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

/// Of whatever kind: it is this driver's own, and has a value.
SS_EXPORT cuImportExternalSemaphore(CUexternalSemaphore* out, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* description) {
  SS_CALL(cuImportExternalSemaphore);
  if (out == nullptr || description == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  *out = reinterpret_cast<CUexternalSemaphore>(0x5e000000 + 16 * state().next_id++);
  semaphore_values()[*out] = 0;
  return CUDA_SUCCESS;
}

SS_EXPORT cuDestroyExternalSemaphore(CUexternalSemaphore semaphore) {
  SS_CALL(cuDestroyExternalSemaphore);
  const Lock lock = lock_state();
  return semaphore_values().erase(semaphore) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
