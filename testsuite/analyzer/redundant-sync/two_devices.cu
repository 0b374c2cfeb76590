// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check redundant-sync %s
// RUN: %check redundant-sync %s -- -DFIXED
//
// A synchronisation of one device says nothing of the streams of another.
#include <cuda_runtime.h>

__global__ void work(float* x) { x[threadIdx.x] += 1.0f; }

void each(float* const* x, int devices) {
  for (int device = 0; device < devices; ++device) {
    cudaSetDevice(device);
    work<<<1, 256>>>(x[device]);
  }
  for (int device = 0; device < devices; ++device) {
    cudaSetDevice(device);
    cudaDeviceSynchronize();
  }
}

void both() {
  cudaSetDevice(0);
  cudaDeviceSynchronize();
#ifdef FIXED
  cudaSetDevice(1);
#else
  cudaSetDevice(0);
#endif
  cudaDeviceSynchronize();
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaDeviceSynchronize is not needed: nothing was enqueued since the last synchronisation [streamsan-redundant-sync]
// CHECK-NOTES: :[[@LINE-8]]:3: note: cudaDeviceSynchronize has waited for the same work here
}

void stream_of_the_first(float* x) {
  cudaStream_t first;
  cudaStreamCreate(&first);
  work<<<1, 256, 0, first>>>(x);
  cudaSetDevice(1);
  cudaDeviceSynchronize();
  cudaStreamSynchronize(first);
  cudaStreamDestroy(first);
}

class OnDevice {
 public:
  explicit OnDevice(int device) {
    cudaGetDevice(&before_);
    cudaSetDevice(device);
  }
  ~OnDevice() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

void guarded(int other) {
  {
    OnDevice guard(other);
    cudaDeviceSynchronize();
  }
  cudaDeviceSynchronize();
}

static void use(bool second) {
  cudaSetDevice(0);
  if (second) cudaSetDevice(1);
}

void by_a_helper(bool second) {
  use(false);
  cudaDeviceSynchronize();
  use(second);
  cudaDeviceSynchronize();
}
