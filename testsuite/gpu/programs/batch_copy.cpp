// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-CPY-30: a batch of copies is one operation of its stream. The second buffer that it fills is read in a stream that
// does not wait for it.
//
// With -DORDER the race is in one stream (R-CPY-32): the batch reads its source during the call, and does not wait for
// the fill in front of it.
#include "driver_api.h"

int main() {
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  constexpr size_t kBytes = size_t{1} << 22;
  void *host = nullptr, *result = nullptr;
  CHECK(cuMemAllocHost(&host, 2 * kBytes));
  CHECK(cuMemAllocHost(&result, kBytes));
  for (size_t i = 0; i < 2 * kBytes; ++i) static_cast<char*>(host)[i] = 7;
  CUdeviceptr a, b;
  CHECK(cuMemAlloc(&a, kBytes));
  CHECK(cuMemAlloc(&b, kBytes));
  CUstream first, second;
  CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CUmemcpyAttributes attributes = {};
  size_t begin = 0, bytes[2] = {kBytes, kBytes};
#ifdef ORDER
  (void)begin;
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
#ifdef FIXED
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
#endif
  CHECK(cuMemsetD8Async(a, 7, kBytes, first));                                 // site: fill
  CHECK(cuMemcpyBatchAsync(&b, &a, bytes, 1, &attributes, &begin, 1, first));  // site: batch
  CHECK(cuMemcpyDtoHAsync(result, b, kBytes, first));
  CHECK(cuStreamSynchronize(first));
#else
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  const auto source = reinterpret_cast<CUdeviceptr>(host);
  CUdeviceptr to[2] = {a, b}, from[2] = {source, source + kBytes};
  CHECK(cuMemcpyBatchAsync(to, from, bytes, 2, &attributes, &begin, 1, first));  // site: first
#ifdef FIXED
  CUevent copied;
  CHECK(cuEventCreate(&copied, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventRecord(copied, first));
  CHECK(cuStreamWaitEvent(second, copied, CU_EVENT_WAIT_DEFAULT));
#endif
  CHECK(cuMemcpyDtoHAsync(result, b, kBytes, second));  // site: second
  CHECK(cuStreamSynchronize(second));
#endif
#ifdef FIXED
  if (static_cast<char*>(result)[kBytes - 1] != 7) return 3;
#endif
  CHECK(cuCtxSynchronize());
  return 0;
}
