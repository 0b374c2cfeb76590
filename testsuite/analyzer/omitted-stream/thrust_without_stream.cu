// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// A policy of Thrust that names no stream, after work on the stream of the parameter. The host waits for the default
// stream then, and not for that work.
#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/sort.h>

#ifdef FIXED
#define POLICY thrust::cuda::par.on(stream)
#else
#define POLICY thrust::cuda::par
#endif

__global__ void make_keys(const float* in, unsigned* keys) { keys[threadIdx.x] = in[threadIdx.x] > 0.0f; }
__global__ void use_keys(const unsigned* keys, float* out) { out[threadIdx.x] = keys[threadIdx.x]; }

void order(const float* in, unsigned* keys, int* values, int n, cudaStream_t stream) {
  make_keys<<<1, 256, 0, stream>>>(in, keys);
  thrust::device_ptr<unsigned> first(keys);
  thrust::device_ptr<int> second(values);
  thrust::sort_by_key(POLICY, first, first + n, second);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: thrust::sort_by_key goes to the default stream, not to stream 'stream': its stream argument is left out [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE-2]]:3: note: pass stream 'stream'; if the default stream is meant, write 0
// CHECK-NOTES: :[[@LINE-7]]:6: note: stream 'stream' is what 'order' is given to work on
}

// The host has waited for the stream, or what Thrust does comes first.
void waits(const float* in, unsigned* keys, int* values, int n, cudaStream_t stream) {
  make_keys<<<1, 256, 0, stream>>>(in, keys);
  cudaStreamSynchronize(stream);
  thrust::device_ptr<unsigned> first(keys);
  thrust::sort_by_key(thrust::device, first, first + n, thrust::device_ptr<int>(values));
}

void before(unsigned* keys, float* out, int n, cudaStream_t stream) {
  thrust::device_ptr<unsigned> first(keys);
  thrust::sort(first, first + n);
  use_keys<<<1, 256, 0, stream>>>(keys, out);
}

// Other memory.
void apart(const float* in, unsigned* keys, unsigned* others, int n, cudaStream_t stream) {
  make_keys<<<1, 256, 0, stream>>>(in, keys);
  thrust::device_ptr<unsigned> first(others);
  thrust::sort(first, first + n);
}
