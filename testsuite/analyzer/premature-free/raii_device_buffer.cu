// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s
// RUN: %check premature-free %s -- -DFIXED
//
// The destructor of an RAII buffer frees on its own stream, the user worked on another one.
#include <cuda_runtime.h>

class Scratch {
 public:
  Scratch(size_t bytes, cudaStream_t stream) : stream_(stream) { cudaMallocAsync(&data_, bytes, stream); }
  ~Scratch() { cudaFreeAsync(data_, stream_); }
  // CHECK-MESSAGES: :[[@LINE-1]]:16: warning: 'scratch.data_' is freed by cudaFreeAsync on stream 'pool' while kernel 'use' on stream 'compute' still writes it [streamsan-premature-free]
  // CHECK-NOTES: :[[@LINE+27]]:3: note: 'scratch' goes out of scope here
  // CHECK-NOTES: :[[@LINE+22]]:5: note: 'scratch.data_' is written here, on stream 'compute'
  // CHECK-NOTES: :[[@LINE+17]]:3: note: stream 'compute' is created here (non-blocking)
  // CHECK-NOTES: :[[@LINE-6]]:66: note: 'scratch.data_' is allocated here
  // CHECK-NOTES: :[[@LINE+17]]:13: note: in the call to 'Scratch::Scratch' here
  // CHECK-NOTES: :[[@LINE-7]]:16: note: free it on stream 'compute', or let stream 'pool' wait for it first: record an event in stream 'compute' after the write and use cudaStreamWaitEvent
  Scratch(const Scratch&) = delete;
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  cudaStream_t stream_;
};

__global__ void use(const float* in, float* scratch) { scratch[threadIdx.x] = in[threadIdx.x]; }

void run(const float* in, size_t bytes) {
  cudaStream_t pool, compute;
  cudaStreamCreateWithFlags(&pool, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
  {
    Scratch scratch(bytes, pool);
    cudaStreamSynchronize(pool);
    use<<<1, 256, 0, compute>>>(in, scratch.data());
#ifdef FIXED
    cudaStreamSynchronize(compute);
#endif
  }
  cudaStreamSynchronize(compute);
  cudaStreamDestroy(pool);
  cudaStreamDestroy(compute);
}
