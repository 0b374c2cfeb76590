// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Calls inside an error-checking macro count like plain ones.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                              \
  do {                                                                           \
    cudaError_t status_ = (call);                                                \
    if (status_ != cudaSuccess) {                                                \
      std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

__global__ void solve(float* x) { x[threadIdx.x] += 1.0f; }

void step(float* x, float* h_x, size_t bytes) {
  cudaStream_t compute, io;
  CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&io, cudaStreamNonBlocking));
  solve<<<1, 256, 0, compute>>>(x);
  CHECK(cudaGetLastError());
#ifdef FIXED
  CHECK(cudaStreamSynchronize(compute));
#endif
  CHECK(cudaMemcpyAsync(h_x, x, bytes, cudaMemcpyDeviceToHost, io));
// CHECK-MESSAGES: :[[@LINE-1]]:9: warning: cudaMemcpyAsync (device to host) on stream 'io' may read 'x' while kernel 'solve' on stream 'compute' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'x' is updated here, on stream 'compute'
// CHECK-NOTES: :[[@LINE-10]]:9: note: stream 'compute' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-10]]:9: note: stream 'io' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:9: note: nothing orders stream 'io' after stream 'compute': record an event in stream 'compute' after the update and let stream 'io' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to host)
  CHECK(cudaStreamSynchronize(io));
  CHECK(cudaStreamDestroy(compute));
  CHECK(cudaStreamDestroy(io));
}
