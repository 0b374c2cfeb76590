// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph clears the half of a buffer that belongs to it. It is captured again for more bytes and updated: from then on it
// clears a part of the other half as well, which another stream reads.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by {{.*}}cudaMemsetAsync (graph node 1)
// CHECK: Previous read by {{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[READ]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

static cudaGraph_t clears(cudaStream_t s, float* buffer, size_t bytes) {
  begin(s);
  must(cudaMemsetAsync(buffer, 0, bytes, s));
  return end(s);
}

int main() {
  float *buffer = floats(), *output = floats();
  const cudaStream_t s = stream(), other = stream();
  const cudaGraphExec_t exec = instantiate(clears(s, buffer, kBytes / 2));
  must(cudaMemcpyAsync(output, buffer + kCount / 2, kBytes / 2, cudaMemcpyDeviceToDevice, other));  // @READ
  must(cudaGraphLaunch(exec, s));
#ifdef FIXED
  const size_t bytes = kBytes / 4;
#else
  const size_t bytes = kBytes * 3 / 4;
#endif
  cudaGraphExecUpdateResultInfo info;
  must(cudaGraphExecUpdate(exec, clears(s, buffer, bytes), &info));
  must(cudaGraphLaunch(exec, s));  // @LAUNCH
  must(cudaDeviceSynchronize());
}
