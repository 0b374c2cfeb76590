// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of a matrix are copied one by one; one copy with a pitch does the same.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: copy-in-pieces: 512 small copies could be 1.
// CHECK-NEXT: Evidence: they come in 1 run, the longest of 512 copies of 256 bytes: all of one size, at equal distances in source and destination, and without another call in between. A copy costs some microseconds, however few its bytes.
// CHECK-NEXT: cudaMemcpy (host to device) on the legacy default stream, op #1
// CHECK-NEXT: main{{.*}}[[COPY]]
// CHECK-NEXT: Fix: copy each run at once, where there are gaps by cudaMemcpy2D or cudaMemcpy2DAsync.
// CHECK-NEXT: kind=hint hazard=copy-in-pieces severity=note cause=copy-in-pieces
// CHECK-NOT: NOTE:
#include <vector>

#include "must.h"

__global__ void use(const char*) {}

int main() {
  constexpr size_t kRows = 512, kBytes = 256, kPitch = 512;
  std::vector<char> host(kRows * kBytes);
  char* device;
  must(cudaMalloc(&device, kRows * kPitch));
#ifdef FIXED
  must(cudaMemcpy2D(device, kPitch, host.data(), kBytes, kBytes, kRows, cudaMemcpyHostToDevice));
#else
  for (size_t row = 0; row < kRows; ++row) {
    must(cudaMemcpy(device + row * kPitch, &host[row * kBytes], kBytes, cudaMemcpyHostToDevice));  // @COPY
  }
#endif
  use<<<1, 32>>>(device);
  must(cudaDeviceSynchronize());
}
