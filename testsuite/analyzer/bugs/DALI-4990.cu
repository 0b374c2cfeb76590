// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// NVIDIA/DALI#4990, XR: filter coefficients are uploaded on the default stream, used on non-blocking streams.
#include <cuda_runtime.h>

#include <vector>

class Filters {
 public:
  void initialize(const std::vector<float>& coefficients, cudaStream_t stream) {
    cudaMalloc(&coefficients_, coefficients.size() * sizeof(float));
    cudaMemcpyAsync(coefficients_, coefficients.data(), coefficients.size() * sizeof(float), cudaMemcpyHostToDevice,
                    stream);
  }
  const float* coefficients() const { return coefficients_; }

 private:
  float* coefficients_ = nullptr;
};

__global__ void resize(const float* filter, const float* in, float* out) {
  out[threadIdx.x] = filter[threadIdx.x] * in[threadIdx.x];
}

void resize_image(const std::vector<float>& coefficients, const float* in, float* out) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  Filters filters;
  filters.initialize(coefficients, 0);
#ifdef FIXED
  cudaStreamSynchronize(0);
#endif
  resize<<<1, 256, 0, stream>>>(filters.coefficients(), in, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'resize' on non-blocking stream 'stream' may read 'filters.coefficients_' while cudaMemcpyAsync (host to device) on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-23]]:5: note: 'filters.coefficients_' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-7]]:3: note: in the call to 'Filters::initialize' here
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-27]]:5: note: 'filters.coefficients_' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: stream 'stream' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'stream' wait for it with cudaStreamWaitEvent before kernel 'resize'
  cudaStreamSynchronize(stream);
}
