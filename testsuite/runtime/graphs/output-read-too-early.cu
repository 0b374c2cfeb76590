// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of a captured step is copied to the host in another stream that does not wait for the launch.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read by {{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[READ]]
// CHECK: Previous write by kernel scale{{.*}}(graph node 1)
// CHECK: main{{.*}}[[NODE]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *input = floats(), *output = floats(), *host = pinned();
  const cudaStream_t s = stream(), download = stream();
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(input, output);  // @NODE
  const cudaGraphExec_t exec = instantiate(end(s));
  must(cudaGraphLaunch(exec, s));  // @LAUNCH
#ifdef FIXED
  after(download, s);
#endif
  must(cudaMemcpyAsync(host, output, kBytes, cudaMemcpyDeviceToHost, download));  // @READ
  must(cudaDeviceSynchronize());
}
