// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the programs of suite/cases_confirm.py. Their racy versions compute the right result on an idle GPU almost
// always, because of the pauses here; with --perturb or --poison a wrong one. Each prints which it was, and exits with
// 0 or 1 accordingly.
#pragma once

#include "kernels.cuh"
#include "stage.h"

#include <time.h>

/// Long for the GPU, short beside a delay of --perturb in these tests: what was submitted before has ended.
inline void pause_host() {
  const timespec rest{0, 30'000'000};
  nanosleep(&rest, nullptr);
}

constexpr long long kLongCycles = 400'000'000;  // about 0.2 s, far longer than a fill

/// Reads its input only after a while (volatile: the compiler must not read before).
__global__ void copy_late(const float* in, float* out, int n, long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = static_cast<const volatile float*>(in)[i];
}

/// Occupies its stream.
__global__ void hold(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

inline int tell_result(const float* values, int count, float expected) {
  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += !(values[i] == expected);
  if (wrong) {
    std::printf("result: wrong in %d of %d values, the first is %g\n", wrong, count, values[0]);
  } else {
    std::printf("result: right\n");
  }
  return wrong != 0;
}

/// Some time later, in the stream: in times `factor`. Tells whether the result is `expected`: what main() returns.
/// All memory is there already, since an allocation would wait for what runs.
inline int tell_scaled(const float* in, float* out, float* result, float factor, float expected, cudaStream_t stream) {
  pause_host();
  scale<<<blocks_for(kCount), 256, 0, stream>>>(in, out, kCount, factor);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(result, out, kBytes, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  const int wrong = tell_result(result, kCount, expected);
  CHECK(cudaDeviceSynchronize());
  return wrong;
}
