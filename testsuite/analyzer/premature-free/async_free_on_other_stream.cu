// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// cudaFreeAsync on a stream that does not wait for the kernel.
#include <cuda_runtime.h>

__global__ void use(float* scratch, float* out) { out[threadIdx.x] = scratch[threadIdx.x]; }

void run(float* out, size_t bytes) {
  cudaStream_t compute, pool;
  cudaEvent_t allocated, used;
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&pool, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&allocated, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&used, cudaEventDisableTiming);
  float* scratch = nullptr;
  cudaMallocAsync(&scratch, bytes, pool);
  cudaEventRecord(allocated, pool);
  cudaStreamWaitEvent(compute, allocated, 0);
  use<<<1, 256, 0, compute>>>(scratch, out);
#ifdef FIXED
  cudaEventRecord(used, compute);
  cudaStreamWaitEvent(pool, used, 0);
#endif
  cudaFreeAsync(scratch, pool);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: 'scratch' is freed by cudaFreeAsync on stream 'pool' while kernel 'use' on stream 'compute' still reads it [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'scratch' is read here, on stream 'compute'
// CHECK-NOTES: :[[@LINE-16]]:3: note: stream 'compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:3: note: 'scratch' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:3: note: free it on stream 'compute', or let stream 'pool' wait for it first: record an event in stream 'compute' after the read and use cudaStreamWaitEvent
  cudaStreamSynchronize(compute);
  cudaStreamSynchronize(pool);
}
