// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A one-dimensional array is filled and read back in parts, by the copies that take an offset. Racy: the part that is
// read back begins one element too early.
//
// RUN: %build_driver %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write race on an array of 1024 x 4 bytes [4 bytes overlap]
// CHECK: Read by cuMemcpyAtoHAsync
// CHECK: main{{.*}}[[READ]]
// CHECK: write by cuMemcpyHtoAAsync
// CHECK: main{{.*}}[[WRITE]]
// CHECK: allocated by cuArrayCreate
// CHECK: SUMMARY: streamsan: 1 error
#include <cuda.h>

#include "first_device.h"
#include "must.h"

int main() {
  use_first_device();
  constexpr size_t kBytes = 4096, kHalf = kBytes / 2;
  void *in, *out;
  must(cuMemHostAlloc(&in, kBytes, 0));
  must(cuMemHostAlloc(&out, kBytes, 0));
  CUDA_ARRAY_DESCRIPTOR is{};
  is.Width = kBytes / 4;
  is.Format = CU_AD_FORMAT_FLOAT;
  is.NumChannels = 1;
  CUarray array, other;
  must(cuArrayCreate(&array, &is));
  must(cuArrayCreate(&other, &is));
  CUstream s1, s2;
  must(cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
  must(cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
  must(cuMemcpyHtoAAsync(array, 0, in, kHalf, s1));  // @WRITE
  must(cuMemcpyHtoAAsync(other, 0, in, kHalf, s1));  // another array
#ifdef FIXED
  constexpr size_t kFirst = kHalf;
#else
  constexpr size_t kFirst = kHalf - 4;
#endif
  must(cuMemcpyAtoHAsync(out, array, kFirst, kHalf, s2));  // @READ
}
