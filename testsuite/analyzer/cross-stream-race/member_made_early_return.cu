// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A function that returns before it creates the members leaves both the default stream: silent. Where it returns because
// CUDA failed, nobody goes on with its object.
#include <cuda_runtime.h>

__global__ void scale(float* x) { x[threadIdx.x] *= 2.0f; }
__global__ void gather(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

class Pipeline {
 public:
  bool open(int* devices) {
#ifdef FIXED
    if (!concurrent_) return true;
#else
    if (cudaGetDeviceCount(devices) != cudaSuccess) return false;
#endif
    cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking);
    if (cudaStreamCreateWithFlags(&transfer_, cudaStreamNonBlocking) != cudaSuccess) {
      transfer_ = nullptr;
      return false;
    }
    return true;
  }
  void step(float* data, float* out) {
    scale<<<1, 256, 0, compute_>>>(data);
    gather<<<1, 256, 0, transfer_>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'gather' on stream 'this->transfer_' may read 'data' while kernel 'scale' on stream 'this->compute_' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:5: note: 'data' is updated here, on stream 'this->compute_'
// CHECK-NOTES: :[[@LINE-12]]:5: note: stream 'this->compute_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:9: note: stream 'this->transfer_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'this->transfer_' after stream 'this->compute_': record an event in stream 'this->compute_' after the update and let stream 'this->transfer_' wait for it with cudaStreamWaitEvent before kernel 'gather'
  }

 private:
  bool concurrent_ = false;
  cudaStream_t compute_ = nullptr;
  cudaStream_t transfer_ = nullptr;
};
