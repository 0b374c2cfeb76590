// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaFree while a kernel still has to read the memory. Today's driver waits for the kernel (R-ALC-02), so the result
// is right, unless the memory is poisoned before.
#include "confirm.h"

int main() {
  constexpr int kFew = 256;
  cudaStream_t stream = non_blocking_stream();
  float* result = pinned_floats(kFew);
  float* in = device_floats(kFew);
  float* out = device_floats(kFew);
  fill<<<1, kFew, 0, stream>>>(in, kFew, 3.0f);
  CHECK(cudaStreamSynchronize(stream));
  copy_late<<<1, kFew, 0, stream>>>(in, out, kFew, kLongCycles);
  CHECK(cudaGetLastError());
#ifdef FIXED
  CHECK(cudaStreamSynchronize(stream));
#endif
  CHECK(cudaFree(in));
  CHECK(cudaMemcpyAsync(result, out, kFew * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  return tell_result(result, kFew, 3.0f);
}
