// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's own entries that the agent needs, handed over by the recorder.
#pragma once

#include <cuda.h>

#include "interposer/footprints/agent.h"

namespace streamsan::footprints {

#define STREAMSAN_DRIVER_CALLS(CALL) \
  CALL(cuCtxGetCurrent)              \
  CALL(cuCtxSetCurrent)              \
  CALL(cuCtxSynchronize)             \
  CALL(cuEventCreate)                \
  CALL(cuEventDestroy_v2)            \
  CALL(cuEventQuery)                 \
  CALL(cuEventRecord)                \
  CALL(cuFuncGetModule)              \
  CALL(cuFuncLoad)                   \
  CALL(cuKernelGetFunction)          \
  CALL(cuMemAlloc_v2)                \
  CALL(cuMemFree_v2)                 \
  CALL(cuMemFreeHost)                \
  CALL(cuMemGetInfo_v2)              \
  CALL(cuMemHostAlloc)               \
  CALL(cuMemcpyDtoHAsync_v2)         \
  CALL(cuMemcpyHtoDAsync_v2)         \
  CALL(cuMemsetD8Async)              \
  CALL(cuStreamCreate)               \
  CALL(cuStreamDestroy_v2)           \
  CALL(cuStreamGetCtx)               \
  CALL(cuStreamGetGreenCtx)          \
  CALL(cuStreamSynchronize)          \
  CALL(cuThreadExchangeStreamCaptureMode)

struct DriverCalls {
#define STREAMSAN_MEMBER(name) decltype(&::name) name;
  STREAMSAN_DRIVER_CALLS(STREAMSAN_MEMBER)
#undef STREAMSAN_MEMBER

  /// False: the driver lacks one.
  bool find(const StreamSanHost& host) {
#define STREAMSAN_FIND(name) this->name = reinterpret_cast<decltype(&::name)>(host.driver_entry(#name));
    STREAMSAN_DRIVER_CALLS(STREAMSAN_FIND)
#undef STREAMSAN_FIND
#define STREAMSAN_IS_THERE(name) &&this->name != nullptr
    return true STREAMSAN_DRIVER_CALLS(STREAMSAN_IS_THERE);
#undef STREAMSAN_IS_THERE
  }
};

}  // namespace streamsan::footprints
