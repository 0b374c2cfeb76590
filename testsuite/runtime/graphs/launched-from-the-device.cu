// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph that kernels may launch, too: nobody sees when they do. The run says so, in all formats.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %report
// RUN: %expect 0 %streamsan run --json=%t.json -- %t
// RUN: %json %t.json | %report --check-prefix=JSON
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: WARNING: streamsan: 2 graphs were made for launches from the device, too: those are not seen
// JSON: warnings{{.*}}2 graphs were made for launches from the device
#include "graphs.h"

int main() {
  float *input = floats(), *output = floats();
  const cudaStream_t s = stream();
  begin(s);
  scale<<<kCount / 256, 256, 0, s>>>(input, output);
  const cudaGraph_t graph = end(s);
  unsigned flags = cudaGraphInstantiateFlagDeviceLaunch;
#ifdef FIXED
  flags = cudaGraphInstantiateFlagUseNodePriority;
#endif
  cudaGraphExec_t exec, second;
  must(cudaGraphInstantiateWithFlags(&exec, graph, flags));
  cudaGraphInstantiateParams given{};
  given.flags = flags;
  must(cudaGraphInstantiateWithParams(&second, graph, &given));
  must(cudaGraphUpload(exec, s));
  must(cudaGraphLaunch(exec, s));
  must(cudaStreamSynchronize(s));
}
