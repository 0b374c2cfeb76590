// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel node writes two outputs by turns: it is given the other one before each launch. The reader of the first output
// waits for the first launch, but the third one writes that output again.
//
// RUN: %build %s -o %t
// RUN: %computed %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %computed %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-read
// CHECK: Write by kernel scale{{.*}}(graph node 1)
// CHECK: Previous read by {{.*}}cudaMemcpyAsync
// CHECK: main{{.*}}[[READ]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK: main{{.*}}[[LAUNCH]]
// CHECK-NOT: ERROR: streamsan:
#include "graphs.h"

int main() {
  float *input = floats(), *outputs[] = {floats(), floats()}, *host = pinned();
  const cudaStream_t s = stream(), download = stream();
  cudaGraph_t graph;
  cudaGraphNode_t node;
  must(cudaGraphCreate(&graph, 0));
  void* arguments[] = {&input, &outputs[0]};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(scale);
  kernel.gridDim = dim3(kCount / 256);
  kernel.blockDim = dim3(256);
  kernel.kernelParams = arguments;
  must(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
  const cudaGraphExec_t exec = instantiate(graph);
  for (int i = 0; i < 3; ++i) {
    arguments[1] = &outputs[i % 2];
    must(cudaGraphExecKernelNodeSetParams(exec, node, &kernel));
#ifdef FIXED
    if (i == 2) after(s, download);
#endif
    must(cudaGraphLaunch(exec, s));  // @LAUNCH
    if (i != 0) continue;
    after(download, s);
    must(cudaMemcpyAsync(host, outputs[0], kBytes, cudaMemcpyDeviceToHost, download));  // @READ
  }
  must(cudaDeviceSynchronize());
}
