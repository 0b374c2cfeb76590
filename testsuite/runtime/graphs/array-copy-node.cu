// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy into an array is a node of a graph; another stream copies the array back without waiting for the launch.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write race on an array of 64 x 16 x 4 bytes [2048 bytes overlap]
// CHECK: Read by cudaMemcpy2DFromArrayAsync
// CHECK: main{{.*}}[[DOWNLOAD]]
// CHECK: write by cudaMemcpy2DToArrayAsync
// CHECK: main{{.*}}[[NODE]]
// CHECK: allocated by cudaMallocArray
// CHECK: SUMMARY: streamsan: 1 error
#include "must.h"

int main() {
  constexpr size_t kRow = 64 * sizeof(float), kRows = 16;
  float *in, *out;
  must(cudaMallocHost(&in, kRow * kRows));
  must(cudaMallocHost(&out, kRow * kRows));
  const cudaChannelFormatDesc element = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaArray_t array;
  must(cudaMallocArray(&array, &element, 64, kRows, cudaArrayDefault));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  must(cudaStreamBeginCapture(s1, cudaStreamCaptureModeThreadLocal));
  // The upper half.
  must(cudaMemcpy2DToArrayAsync(array, 0, kRows / 2, in, kRow, kRow, kRows / 2, cudaMemcpyHostToDevice, s1));  // @NODE
  must(cudaStreamEndCapture(s1, &graph));
  must(cudaGraphInstantiate(&exec, graph, 0));
  must(cudaGraphLaunch(exec, s1));
  // The lower half is nobody else's.
  must(cudaMemcpy2DFromArrayAsync(out, kRow, array, 0, 0, kRow, kRows / 2, cudaMemcpyDeviceToHost, s2));
#ifdef FIXED
  must(cudaStreamSynchronize(s1));
#endif
  must(cudaMemcpy2DFromArrayAsync(out, kRow, array, 0, 0, kRow, kRows, cudaMemcpyDeviceToHost, s2));  // @DOWNLOAD
  must(cudaDeviceSynchronize());
}
