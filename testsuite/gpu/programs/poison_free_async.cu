// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel reads stream-ordered memory that another stream has freed. Nobody has reused it, so what it reads is right,
// unless freed memory is poisoned.
#include "confirm.h"

int main() {
  cudaStream_t owner = non_blocking_stream();
  cudaStream_t user = non_blocking_stream();
  float* result = pinned_floats();
  float* out = device_floats();
  float* data;
  CHECK(cudaMallocAsync(&data, kBytes, owner));
  fill<<<blocks_for(kCount), 256, 0, owner>>>(data, kCount, 2.0f);
  CHECK(cudaGetLastError());
  order(owner, user);
#ifndef FIXED
  CHECK(cudaFreeAsync(data, owner));
  pause_host();
#endif
  scale<<<blocks_for(kCount), 256, 0, user>>>(data, out, kCount, 2.0f);
  CHECK(cudaGetLastError());
#ifdef FIXED
  order(user, owner);
  CHECK(cudaFreeAsync(data, owner));
#endif
  CHECK(cudaMemcpyAsync(result, out, kBytes, cudaMemcpyDeviceToHost, user));
  CHECK(cudaStreamSynchronize(user));
  const int wrong = tell_result(result, kCount, 4.0f);
  CHECK(cudaDeviceSynchronize());
  return wrong;
}
