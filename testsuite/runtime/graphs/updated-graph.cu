// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph is captured again with another buffer, and the executable graph is updated with it, while another stream
// still reads that buffer.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by {{.*}}cudaMemsetAsync (graph node 1)
// CHECK: capture{{.*}}[[NODE]]
// CHECK: Previous read by kernel scale
// CHECK: main{{.*}}[[READ]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

static cudaGraph_t capture(cudaStream_t s, float* buffer) {
  begin(s);
  must(cudaMemsetAsync(buffer, 0, kBytes, s));  // @NODE
  return end(s);
}

int main() {
  float *first = floats(), *second = floats(), *output = floats();
  const cudaStream_t s = stream(), other = stream();
  const cudaGraphExec_t exec = instantiate(capture(s, first));
  must(cudaGraphLaunch(exec, s));
  scale<<<kCount / 256, 256, 0, other>>>(second, output);  // @READ
#ifdef FIXED
  after(s, other);
#endif
  cudaGraphExecUpdateResultInfo info;
  must(cudaGraphExecUpdate(exec, capture(s, second), &info));
  must(cudaGraphLaunch(exec, s));
  must(cudaDeviceSynchronize());
}
