// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A captured training step: the gradient is copied to another buffer in a forked stream, while the optimiser overwrites
// it. Both streams are joined in the end, so the capture is valid; but the optimiser does not wait for the copy.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by {{.*}}cudaMemsetAsync (graph node 3)
// CHECK: main{{.*}}[[CLEAR]]
// CHECK: Previous read by {{.*}}(graph node 2)
// CHECK: main{{.*}}[[COPY]]
// CHECK: cause=no-path-in-graph
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *activations = floats(), *gradient = floats(), *logged = floats();
  const cudaStream_t s = stream(), side = stream();
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(activations, gradient);
  after(side, s);
  must(cudaMemcpyAsync(logged, gradient, kBytes, cudaMemcpyDeviceToDevice, side));  // @COPY
#ifdef FIXED
  after(s, side);
#endif
  must(cudaMemsetAsync(gradient, 0, kBytes, s));  // @CLEAR
  after(s, side);
  const cudaGraphExec_t exec = instantiate(end(s));
  must(cudaMemsetAsync(activations, 0, kBytes, s));
  for (int i = 0; i < 3; ++i) must(cudaGraphLaunch(exec, s));
  must(cudaStreamSynchronize(s));
}
