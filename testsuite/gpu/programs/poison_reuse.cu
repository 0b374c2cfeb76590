// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream frees memory that a kernel of another stream still reads, and is given it again, but writes to it only much
// later. The kernel reads what it should, unless memory is poisoned when it is freed and when it is handed out.
#include "confirm.h"

int main() {
  constexpr int kFew = 256;
  cudaStream_t owner = non_blocking_stream();
  cudaStream_t user = non_blocking_stream();
  float* result = pinned_floats(kFew);
  float* out = device_floats(kFew);
  float *data, *again;
  CHECK(cudaMallocAsync(&data, kBytes, owner));
  fill<<<blocks_for(kCount), 256, 0, owner>>>(data, kCount, 5.0f);
  CHECK(cudaGetLastError());
  order(owner, user);
  copy_late<<<1, kFew, 0, user>>>(data, out, kFew, kLongCycles);
  CHECK(cudaGetLastError());
#ifdef FIXED
  order(user, owner);
#endif
  CHECK(cudaFreeAsync(data, owner));
  CHECK(cudaMallocAsync(&again, kBytes, owner));
  CHECK(cudaMemcpyAsync(result, out, kFew * sizeof(float), cudaMemcpyDeviceToHost, user));
  CHECK(cudaStreamSynchronize(user));
  const int wrong = tell_result(result, kFew, 5.0f);
  fill<<<blocks_for(kCount), 256, 0, owner>>>(again, kCount, 1.0f);
  CHECK(cudaGetLastError());
  CHECK(cudaFreeAsync(again, owner));
  CHECK(cudaDeviceSynchronize());
  return wrong;
}
