// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs of runtime/syncs share: kernels whose length can be chosen, and a check of what they computed.
//
// Without an argument a program does its calls once and computes next to nothing: that is what is judged, also where
// there is no GPU. With one, the number of thousands of clock cycles that each kernel spins, it checks its result,
// exits with 98 if that is wrong, and says "right" if it is not. How long a program takes is measured from outside, see
// benchmarks/sync_advice.h: a clock that is read here would be one more reason to wait.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "must.h"

constexpr int kCount = 1 << 14;
constexpr size_t kBytes = kCount * sizeof(float);

inline long g_cycles = 0;  // of each kernel; 0: nothing is checked

__device__ void spin(long cycles) {
  const long start = clock64();
  while (clock64() - start < cycles) {
  }
}

/// Small enough that many run at a time.
__global__ void set(float* out, float value, long cycles) {
  spin(cycles);
  for (int i = threadIdx.x; i < kCount; i += blockDim.x) out[i] = value;
}

__global__ void add(float* out, const float* in, float value, long cycles) {
  spin(cycles);
  for (int i = threadIdx.x; i < kCount; i += blockDim.x) out[i] = in[i] + value;
}

inline void run_set(cudaStream_t stream, float* out, float value) {
  set<<<1, 256, 0, stream>>>(out, value, g_cycles);
  must(cudaGetLastError());
}

inline void run_add(cudaStream_t stream, float* out, const float* in, float value) {
  add<<<1, 256, 0, stream>>>(out, in, value, g_cycles);
  must(cudaGetLastError());
}

inline void begin(int argc, char** argv) {
#ifndef NULL_DRIVER  // where no kernel runs
  if (argc > 1) g_cycles = std::atol(argv[1]) * 1000;
#endif
  must(cudaFree(nullptr));
}

/// All has been checked.
inline void done() {
  if (g_cycles) std::printf("right\n");
}

inline void expect(const float* host, float value) {
  if (!g_cycles) return;
  for (int i = 0; i < kCount; ++i) {
    if (host[i] == value) continue;
    std::fprintf(stderr, "element %d is %g and not %g\n", i, host[i], value);
    std::_Exit(98);
  }
}

/// Reads what is in device memory, in the order of the stream.
inline void finish(cudaStream_t stream, const float* device, float value) {
  float* host;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMemcpyAsync(host, device, kBytes, cudaMemcpyDeviceToHost, stream));
  must(cudaStreamSynchronize(stream));  // needed: the host reads
  const volatile float* look = host;
  (void)look[0];
  expect(host, value);
  done();
}

inline float* device_floats() {
  float* out;
  must(cudaMalloc(&out, kBytes));
  return out;
}

inline float* pinned_floats() {
  float* out;
  must(cudaMallocHost(&out, kBytes));
  return out;
}

inline cudaStream_t non_blocking_stream() {
  cudaStream_t out;
  must(cudaStreamCreateWithFlags(&out, cudaStreamNonBlocking));
  return out;
}

inline cudaStream_t blocking_stream() {
  cudaStream_t out;
  must(cudaStreamCreate(&out));
  return out;
}

inline cudaEvent_t order_event() {
  cudaEvent_t out;
  must(cudaEventCreateWithFlags(&out, cudaEventDisableTiming));
  return out;
}
