// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// Polling the event until it is complete tells the host: nothing is certain to race after that.
#include <cuda_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  cudaStream_t a, b;
  cudaEvent_t done;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  produce<<<1, 256, 0, a>>>(data);
  cudaEventRecord(done, a);
  while (cudaEventQuery(done) == cudaErrorNotReady) {
  }
  consume<<<1, 256, 0, b>>>(data, out);
  cudaStreamSynchronize(b);
}
