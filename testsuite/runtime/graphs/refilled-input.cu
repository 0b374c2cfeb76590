// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The static input of a captured inference step is filled for the next request in another stream, while the step may
// still read it.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by {{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[FILL]]
// CHECK: Previous read by kernel scale{{.*}} (graph node 1)
// CHECK: main{{.*}}[[NODE]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *input = floats(), *hidden = floats(), *output = floats(), *requests = pinned();
  const cudaStream_t s = stream(), upload = stream();
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(input, hidden);  // @NODE
  add<<<kCount / 256, 256, 0, s>>>(hidden, hidden, output);
  const cudaGraphExec_t step = instantiate(end(s));
  for (int request = 0; request < 3; ++request) {
    must(cudaMemcpyAsync(input, requests, kBytes, cudaMemcpyHostToDevice, upload));  // @FILL
    after(s, upload);
    must(cudaGraphLaunch(step, s));  // @LAUNCH
#ifdef FIXED
    after(upload, s);
#endif
  }
  must(cudaStreamSynchronize(s));
}
