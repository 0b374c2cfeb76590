// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// OpenPPL/ppl.cv#135, IM: an operator takes a stream and copies its table with cudaMemcpy, on the legacy stream.
#include <cuda_runtime.h>

#include <vector>

__global__ void remap(const float* map, const unsigned char* in, unsigned char* out) {
  out[threadIdx.x] = in[static_cast<int>(map[threadIdx.x])];
}

static int remap_image(cudaStream_t stream, const float* h_map, float* d_map, size_t bytes, const unsigned char* in,
                       unsigned char* out) {
#ifdef FIXED
  cudaMemcpyAsync(d_map, h_map, bytes, cudaMemcpyHostToDevice, stream);
#else
  cudaMemcpy(d_map, h_map, bytes, cudaMemcpyHostToDevice);
#endif
  remap<<<1, 256, 0, stream>>>(d_map, in, out);  // FIRES: nonblocking-vs-default
  return cudaGetLastError();
}

void serve(float* d_map, size_t n, const unsigned char* in, unsigned char* out) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  const std::vector<float> map(n, 1.0f);
  remap_image(stream, map.data(), d_map, n * sizeof(float), in, out);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
}
