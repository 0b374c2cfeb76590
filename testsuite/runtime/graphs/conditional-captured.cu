// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A conditional node is put into a graph under capture, and its body is captured in another stream. What the body scales is
// read by a stream that does not wait for the launch.
//
// RUN: %build %s -o %t
// RUN: %possible %expect 0 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %possible %silent %t.fixed
//
// CHECK: POSSIBLE: streamsan: read-after-write
// CHECK: main{{.*}}[[READ]]
// CHECK: Previous write by kernel scale{{.*}}conditional)
// CHECK: main{{.*}}[[BODY]]
// CHECK: the graph launched by cudaGraphLaunch
// CHECK-NOT: {{(ERROR|POSSIBLE):}}
#include "conditional.h"

int main() {
  float *input = floats(), *output = floats(), *copy = floats(), *rest = floats();
  const cudaStream_t s = stream(), inner = stream(), reader = stream();
  begin(s);
  must(cudaMemsetAsync(input, 0, kBytes, s));
  cudaStreamCaptureStatus status;
  cudaGraph_t graph;
  const cudaGraphNode_t* front;
  size_t count;
  must(cudaStreamGetCaptureInfo(s, &status, nullptr, &graph, &front, nullptr, &count));
  Conditional node = conditional(graph, condition(graph), cudaGraphCondTypeIf, 1, front);
  must(cudaStreamUpdateCaptureDependencies(s, &node.node, nullptr, 1, cudaStreamSetCaptureDependencies));
  must(cudaStreamBeginCaptureToGraph(inner, node.bodies[0], nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
  scale<<<kCount / 256, 256, 0, inner>>>(input, output);  // @BODY
  if (end(inner) != node.bodies[0]) return 1;
  // Behind the node as a whole.
  must(cudaMemcpyAsync(rest, output, kBytes, cudaMemcpyDeviceToDevice, s));
  const cudaGraphExec_t exec = instantiate(end(s));
  must(cudaGraphLaunch(exec, s));
#ifdef FIXED
  after(reader, s);
#endif
  must(cudaMemcpyAsync(copy, output, kBytes, cudaMemcpyDeviceToDevice, reader));  // @READ
  must(cudaDeviceSynchronize());
}
