// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-EVT-17 and R-EVT-18: an event of a whole context, for which the whole context waits. In the racy program it is
// recorded before the copy.
#include "driver_api.h"

int main() {
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  constexpr size_t kBytes = size_t{1} << 24;
  void *host = nullptr, *result = nullptr;
  CHECK(cuMemAllocHost(&host, kBytes));
  CHECK(cuMemAllocHost(&result, kBytes));
  for (size_t i = 0; i < kBytes; ++i) static_cast<char*>(host)[i] = 7;
  CUdeviceptr buffer;
  CHECK(cuMemAlloc(&buffer, kBytes));
  CUstream upload, download;
  CHECK(cuStreamCreate(&upload, CU_STREAM_NON_BLOCKING));
  CUevent all;
  CHECK(cuEventCreate(&all, CU_EVENT_DISABLE_TIMING));
#ifndef FIXED
  CHECK(cuCtxRecordEvent(context, all));
#endif
  CHECK(cuMemcpyHtoDAsync(buffer, host, kBytes, upload));  // site: first
#ifdef FIXED
  CHECK(cuCtxRecordEvent(context, all));
#endif
  CHECK(cuCtxWaitEvent(context, all));
  CHECK(cuStreamCreate(&download, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemcpyDtoHAsync(result, buffer, kBytes, download));  // site: second
  CHECK(cuStreamSynchronize(download));
#ifdef FIXED
  if (static_cast<char*>(result)[kBytes - 1] != 7) return 3;
#endif
  CHECK(cuCtxSynchronize());
  return 0;
}
