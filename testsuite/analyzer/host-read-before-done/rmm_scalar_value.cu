// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
//
// device_scalar::value(stream) synchronises its stream and may be used at once: silent.
#include <cuda_runtime.h>

#include <rmm/device_scalar.hpp>

__global__ void count(const int* in, int* out) { atomicAdd(out, in[threadIdx.x]); }

int run(const int* in, rmm::cuda_stream_view stream) {
  const int zero = 0;
  rmm::device_scalar<int> counter(zero, stream);
  count<<<1, 256, 0, stream.value()>>>(in, counter.data());
  return counter.value(stream);
}
