// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// A function is given its stream by a constant reference, and helpers get it on. So is one that sets the stream.
#include <cuda_runtime.h>

__global__ void clear(float* p) { p[threadIdx.x] = 0.0f; }
__global__ void add(float* p, const float* x) { p[threadIdx.x] += x[threadIdx.x]; }
__global__ void scan(float* p) { p[threadIdx.x] *= 2.0f; }

static void count(const cudaStream_t& stream, float* p, const float* x) { add<<<1, 32, 0, stream>>>(p, x); }

void launch(const cudaStream_t& stream, float* p, const float* x) {
#ifdef FIXED
  clear<<<1, 32, 0, stream>>>(p);
#else
  clear<<<1, 32>>>(p);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'clear' goes to the default stream, not to stream 'stream': its stream argument is left out [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE-2]]:3: note: pass stream 'stream'; if the default stream is meant, write 0
// CHECK-NOTES: :[[@LINE-7]]:6: note: stream 'stream' is what 'launch' is given to work on
#endif
  add<<<1, 32, 0, stream>>>(p, x);
}

void passed_on(const cudaStream_t& stream, float* counts, float* sums, const float* x) {
  scan<<<1, 32, 0, stream>>>(sums);
#ifdef FIXED
  cudaMemsetAsync(counts, 0, 128, stream);
#else
  cudaMemset(counts, 0, 128);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemset goes to the default stream, not to stream 'stream' as count on the same memory: nothing orders the two if that stream does not wait for the default one [streamsan-omitted-stream]
// CHECK-NOTES: :[[@LINE+4]]:3: note: count goes to stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:3: note: use the form that takes a stream, and pass stream 'stream'
// CHECK-NOTES: :[[@LINE-9]]:6: note: stream 'stream' is what 'passed_on' is given to work on
#endif
  count(stream, counts, x);
}

// The stream is this function's to set; the helper works on other memory; the host waits in between.
cudaStream_t next_stream();
void choose(cudaStream_t& stream, float* p, const float* x) {
  clear<<<1, 32>>>(p);
  cudaDeviceSynchronize();
  stream = next_stream();
  add<<<1, 32, 0, stream>>>(p, x);
}
void other_memory(const cudaStream_t& stream, float* counts, float* sums, const float* x) {
  scan<<<1, 32, 0, stream>>>(sums);
  cudaMemset(counts, 0, 128);
  count(stream, sums, x);
}
void waited(const cudaStream_t& stream, float* counts, float* sums, const float* x) {
  scan<<<1, 32, 0, stream>>>(sums);
  cudaMemset(counts, 0, 128);
  cudaDeviceSynchronize();
  count(stream, counts, x);
}
