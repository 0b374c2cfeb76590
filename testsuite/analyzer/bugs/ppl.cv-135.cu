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
  remap<<<1, 256, 0, stream>>>(d_map, in, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'remap' on non-blocking stream 'stream' may read 'd_map' while cudaMemcpy (host to device) on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-4]]:3: note: 'd_map' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-5]]:3: note: cudaMemcpy (host to device) returns when its work may still be running (R-CPY-01)
// CHECK-NOTES: :[[@LINE+8]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: stream 'stream' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'stream' wait for it with cudaStreamWaitEvent before kernel 'remap'
// CHECK-NOTES: :[[@LINE+8]]:3: note: in the call to 'remap_image' here
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
