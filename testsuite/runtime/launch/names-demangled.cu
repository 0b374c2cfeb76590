// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports name kernels as the source does: templates, overloads and namespaces included.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: kernel {{.*}}lib::update<float, 4>(float const*, int)
// CHECK: main{{.*}}[[READ]]
// CHECK: kernel {{.*}}lib::update(float*)
// CHECK: main{{.*}}[[WRITE]]
#include "must.h"

namespace lib {
__global__ void update(float*) {}
template <typename T, int N>
__global__ void update(const T*, int) {}
}  // namespace lib

int main() {
  float* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  s2 = s1;
#endif
  lib::update<<<1, 32, 0, s1>>>(buffer);               // @WRITE
  lib::update<float, 4><<<1, 32, 0, s2>>>(buffer, 7);  // @READ
  must(cudaGetLastError());
}
