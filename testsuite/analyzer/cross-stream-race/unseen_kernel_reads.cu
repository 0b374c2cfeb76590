// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// A kernel whose code is not in sight may only read, as the copy does: silent.
#include <cuda.h>

void look(CUfunction kernel, void* host, CUdeviceptr data) {
  CUstream copies, work;
  cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&work, CU_STREAM_NON_BLOCKING);
  cuMemcpyDtoHAsync(host, data, 1024, copies);
  void* arguments[] = {&data};
  cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, work, arguments, nullptr);
}
