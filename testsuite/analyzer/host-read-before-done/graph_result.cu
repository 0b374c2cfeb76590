// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// The copy of the residual to the host is part of the graph; its launch returns at once.
#include <cuda_runtime.h>

__global__ void relax(float* x, float* residual) { atomicAdd(residual, x[threadIdx.x]); }

int solve(float* x, float* residual, float* pinned, float tolerance, int most, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t sweep;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  relax<<<1, 256, 0, stream>>>(x, residual);
  cudaMemcpyAsync(pinned, residual, sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&sweep, graph, 0);
  int sweeps = 0;
  for (; sweeps < most; ++sweeps) {
    cudaGraphLaunch(sweep, stream);
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
    if (*pinned < tolerance) break;
// CHECK-MESSAGES: :[[@LINE-1]]:9: warning: the host may read 'pinned' while cudaGraphLaunch on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'pinned' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:9: note: wait for stream 'stream' with cudaStreamSynchronize before the read
#ifndef FIXED
#endif
  }
  cudaStreamSynchronize(stream);
  return sweeps;
}
