// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
//
// The stream of the plan is set by a method, which may be called before the other one: nothing to report.
#include <cuda_runtime.h>
#include <cufft.h>

__global__ void window(cufftComplex* data) { data[threadIdx.x].x *= 0.5f; }

class Spectrum {
 public:
  explicit Spectrum(int n) {
    cufftPlan1d(&plan_, n, CUFFT_C2C, 1);
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
  }
  void attach(cudaStream_t stream) { cufftSetStream(plan_, stream); }
  void transform(cufftComplex* data) {
    window<<<1, 256, 0, stream_>>>(data);
    cufftExecC2C(plan_, data, data, CUFFT_FORWARD);
  }

 private:
  cufftHandle plan_;
  cudaStream_t stream_;
};
