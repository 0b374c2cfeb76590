// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// cudaMemcpy goes over the default stream: pageable data may still be on its way when the other stream starts.
#include <cuda_runtime.h>

#include <vector>

__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void upload_and_run(float* data, float* out, const std::vector<float>& host) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
#ifdef FIXED
  cudaMemcpyAsync(data, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice, side);
#else
  cudaMemcpy(data, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
#endif
  consume<<<1, 256, 0, side>>>(data, out);  // FIRES: nonblocking-vs-default
  cudaStreamSynchronize(side);
  cudaStreamDestroy(side);
}
