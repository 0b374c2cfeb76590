// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The static input of a captured inference step is filled for the next request in another stream, while the step may
// still read it. The report says where the graph was created; not if one call has launched several
// by then (-DSEVERAL).
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DSEVERAL %s -o %t.several
// RUN: %computed %racy %t.several 2>&1 | %sites --check-prefix=SEVERAL
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
// CHECK: the graph created by cudaGraphInstantiate
// CHECK: main{{.*}}[[CREATED]]
// CHECK: Fix:
// CHECK-NOT: ERROR: streamsan:
// SEVERAL: main{{.*}}[[LAUNCH]]
// SEVERAL-NOT: the graph created
// SEVERAL: Fix:
#include "graphs.h"

int main() {
  float *input = floats(), *hidden = floats(), *output = floats(), *requests = pinned();
  const cudaStream_t s = stream(), upload = stream();
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(input, hidden);  // @NODE
  add<<<kCount / 256, 256, 0, s>>>(hidden, hidden, output);
  const cudaGraph_t graph = end(s);
  cudaGraphExec_t steps[2];
  steps[0] = steps[1] = instantiate(graph);  // @CREATED
#ifdef SEVERAL
  steps[1] = instantiate(graph);
#endif
  for (int request = 0; request < 4; ++request) {
    must(cudaMemcpyAsync(input, requests, kBytes, cudaMemcpyHostToDevice, upload));  // @FILL
    after(s, upload);
    must(cudaGraphLaunch(steps[request % 2], s));  // @LAUNCH
#ifdef FIXED
    after(upload, s);
#elif defined SEVERAL
    if (request < 2) after(upload, s);
#endif
  }
  must(cudaStreamSynchronize(s));
}
