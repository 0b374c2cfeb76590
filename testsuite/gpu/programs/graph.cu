// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A captured fork and join, replayed: what is captured is not executed then, and a replay orders as one operation of
// its stream. Correct, so silent.
#include "kernels.cuh"
#include "stage.h"

int main() {
  cudaStream_t origin = non_blocking_stream();
  cudaStream_t side = non_blocking_stream();
  float* data = device_floats();
  float* other = device_floats();
  float* host = pinned_floats();
  CHECK(cudaMemsetAsync(data, 0, kBytes, origin));
  CHECK(cudaStreamSynchronize(origin));

  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal));
  order(origin, side);
  fill<<<blocks_for(kCount), 256, 0, side>>>(other, kCount, 1.0f);
  add_one<<<blocks_for(kCount), 256, 0, origin>>>(data, kCount);
  order(side, origin);
  CHECK(cudaStreamEndCapture(origin, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 10; ++i) CHECK(cudaGraphLaunch(executable, origin));
  CHECK(cudaMemcpyAsync(host, data, kBytes, cudaMemcpyDeviceToHost, origin));
  CHECK(cudaStreamSynchronize(origin));
  expect_all(host, kCount, 10.0f);
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  return 0;
}
