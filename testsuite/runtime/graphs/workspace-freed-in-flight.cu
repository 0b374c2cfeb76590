// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The workspace of a captured model comes from the stream-ordered allocator, and its address is part of the graph. It is
// freed in another stream while a launch may still use it.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: {{.*}}free
// CHECK: Free by cudaFreeAsync
// CHECK: main{{.*}}[[FREE]]
// CHECK: Previous {{.*}} by kernel {{.*}}(graph node {{[12]}})
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *input = floats(), *output = floats(), *workspace;
  const cudaStream_t s = stream(), cleaner = stream();
  must(cudaMallocAsync(&workspace, kBytes, s));
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(input, workspace);
  add<<<kCount / 256, 256, 0, s>>>(input, workspace, output);
  const cudaGraphExec_t model = instantiate(end(s));
  after(cleaner, s);
  must(cudaGraphLaunch(model, s));  // @LAUNCH
#ifdef FIXED
  after(cleaner, s);
#endif
  must(cudaFreeAsync(workspace, cleaner));  // @FREE
  must(cudaDeviceSynchronize());
}
