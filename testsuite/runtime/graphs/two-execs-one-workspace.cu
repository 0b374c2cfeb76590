// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two captured models share a workspace, which each of them writes first and reads then. They are launched in two
// streams that do not wait for each other.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-
// CHECK: Write by kernel scale{{.*}}(graph node 1)
// CHECK: model{{.*}}[[FIRST]]
// CHECK: by kernel {{.*}}(graph node {{[12]}})
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[SECOND_LAUNCH]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[FIRST_LAUNCH]]
// CHECK: the graph of op #1 created by cudaGraphInstantiate
// CHECK: main{{.*}}[[ONE]]
// CHECK: the graph of op #2 created by cudaGraphInstantiate
// CHECK: main{{.*}}[[TWO]]
// CHECK: Fix: record an event on stream 1 after cudaGraphLaunch ({{.*}}) and call cudaStreamWaitEvent(stream 2, event)
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

static cudaGraphExec_t model(cudaStream_t s, const float* in, float* workspace, float* out) {
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(in, workspace);  // @FIRST
  add<<<kCount / 256, 256, 0, s>>>(in, workspace, out);
  return instantiate(end(s));
}

int main() {
  const cudaStream_t s1 = stream(), s2 = stream();
  float* workspace = floats();
  const cudaGraphExec_t one = model(s1, floats(), workspace, floats());  // @ONE
  const cudaGraphExec_t two = model(s2, floats(), workspace, floats());  // @TWO
  must(cudaGraphLaunch(one, s1));  // @FIRST_LAUNCH
#ifdef FIXED
  after(s2, s1);
#endif
  must(cudaGraphLaunch(two, s2));  // @SECOND_LAUNCH
  must(cudaDeviceSynchronize());
}
