// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// The clean-up helper frees at once; the launch was two lines above, on another stream.
#include <cuda_runtime.h>

__global__ void use(float* w) { w[threadIdx.x] += 1.0f; }

static void give_back(float* memory, cudaStream_t pool) {
  cudaFreeAsync(memory, pool);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'w' is freed by cudaFreeAsync on stream 'pool' while kernel 'use' on stream 'compute' still updates it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE+18]]:3: note: in the call to 'give_back' here
// CHECK-NOTES: :[[@LINE+13]]:3: note: 'w' is updated here, on stream 'compute'
// CHECK-NOTES: :[[@LINE+8]]:3: note: stream 'compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+9]]:3: note: 'w' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: free it on stream 'compute', or let stream 'pool' wait for it first: record an event in stream 'compute' after the update and use cudaStreamWaitEvent
}

void run(size_t bytes) {
  cudaStream_t pool, compute;
  cudaStreamCreateWithFlags(&pool, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  float* w = nullptr;
  cudaMallocAsync(&w, bytes, pool);
  cudaStreamSynchronize(pool);
  use<<<1, 256, 0, compute>>>(w);
#ifdef FIXED
  give_back(w, compute);
#else
  give_back(w, pool);
#endif
  cudaDeviceSynchronize();
}
