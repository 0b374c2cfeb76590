// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each level of a mipmapped array is filled in a stream of its own: levels have no byte in common. Racy: both streams
// fill the same one, of which the program asked for the handle twice.
//
// RUN: %build_driver %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write race on a mipmapped array of 64 x 32 x 16 x 8 bytes [32768 bytes overlap]
// CHECK: Write by cuMemcpy3DAsync
// CHECK: write by cuMemcpy3DAsync
// CHECK: allocated by cuMipmappedArrayCreate
// CHECK: main{{.*}}[[MADE]]
#include <cuda.h>

#include "first_device.h"
#include "must.h"

int main() {
  use_first_device();
  void* host;
  must(cuMemHostAlloc(&host, 64 * 32 * 16 * 8, 0));
  CUDA_ARRAY3D_DESCRIPTOR is{};
  is.Width = 64;
  is.Height = 32;
  is.Depth = 16;
  is.Format = CU_AD_FORMAT_HALF;
  is.NumChannels = 4;
  CUmipmappedArray whole;
  must(cuMipmappedArrayCreate(&whole, &is, 3));  // @MADE
  for (int i = 0; i < 2; ++i) {
#ifdef FIXED
    const unsigned level = i;
#else
    const unsigned level = 1;
#endif
    CUarray part;
    must(cuMipmappedArrayGetLevel(&part, whole, level));
    CUstream stream;
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = part;
    copy.WidthInBytes = (64 >> level) * 8;
    copy.Height = 32 >> level;
    copy.Depth = 16 >> level;
    must(cuMemcpy3DAsync(&copy, stream));
  }
}
