// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of a step is copied away in another stream, which waits for the step. The next replay does not wait for
// the copy and overwrites what it reads.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by kernel scale{{.*}}(graph node 1)
// CHECK: main{{.*}}[[NODE]]
// CHECK: Previous read by {{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[CLONE]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[REPLAY]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *input = floats(), *output = floats(), *clone = floats();
  const cudaStream_t s = stream(), side = stream();
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(input, output);  // @NODE
  const cudaGraphExec_t step = instantiate(end(s));
  for (int i = 0; i < 3; ++i) {
    must(cudaGraphLaunch(step, s));  // @REPLAY
    after(side, s);
    must(cudaMemcpyAsync(clone, output, kBytes, cudaMemcpyDeviceToDevice, side));  // @CLONE
#ifdef FIXED
    after(s, side);
#endif
  }
  must(cudaDeviceSynchronize());
}
