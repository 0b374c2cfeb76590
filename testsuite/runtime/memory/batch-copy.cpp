// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch of copies is one operation of its stream: what it writes is there for a stream that waits for it, and for no
// other. Once with cuMemcpyBatchAsync, once with cuMemcpy3DBatchAsync, of which only every second row is copied.
//
// RUN: %build_driver %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: %build_driver -DSHAPED %s -o %t.shaped
// RUN: %racy %t.shaped 2>&1 | %report --check-prefix=SHAPED
// RUN: %build_driver -DSHAPED -DFIXED %s -o %t.shaped.fixed
// RUN: %silent %t.shaped.fixed
//
// CHECK: ERROR: streamsan: write-after-write race on device memory {{.*}}4096 bytes overlap
// CHECK: Write{{.*}}cuMemsetD32Async
// CHECK: main{{.*}}[[SECOND]]
// CHECK: write by cuMemcpyBatchAsync
// CHECK: main{{.*}}[[FIRST]]
// CHECK: SUMMARY: streamsan: 1 error
//
// SHAPED: ERROR: streamsan: write-after-write race on device memory
// SHAPED: write by cuMemcpy3DBatchAsync
// SHAPED: SUMMARY: streamsan: 1 error
#include <cuda.h>

#include "first_device.h"
#include "must.h"

int main() {
  constexpr size_t kBytes = 4096;
  use_first_device();
  void* host;
  must(cuMemHostAlloc(&host, 2 * kBytes, 0));
  CUdeviceptr a, b;
  must(cuMemAlloc(&a, kBytes));
  must(cuMemAlloc(&b, kBytes));
  CUstream s1, s2;
  must(cuStreamCreate(&s1, CU_STREAM_NON_BLOCKING));
  must(cuStreamCreate(&s2, CU_STREAM_NON_BLOCKING));
  const auto source = reinterpret_cast<CUdeviceptr>(host);
#ifdef SHAPED
  CUDA_MEMCPY3D_BATCH_OP copies[2] = {};
  for (int i = 0; i < 2; ++i) {
    copies[i].src.type = copies[i].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    copies[i].src.op.ptr.ptr = source + i * kBytes;
    copies[i].dst.op.ptr.ptr = i == 0 ? a : b;
    copies[i].dst.op.ptr.rowLength = 512;
    copies[i].extent = {256, 8, 1};
    copies[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  }
  must(cuMemcpy3DBatchAsync(2, copies, 0, s1));
  // The gaps between the rows are nobody's.
  must(cuMemsetD2D8Async(b + 256, 512, 0, 256, 7, s2));
#else
  CUdeviceptr to[2] = {a, b}, from[2] = {source, source + kBytes};
  size_t sizes[2] = {kBytes, kBytes}, first = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  must(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, s1));  // @FIRST
#endif
#ifdef FIXED
  CUevent copied;
  must(cuEventCreate(&copied, CU_EVENT_DISABLE_TIMING));
  must(cuEventRecord(copied, s1));
  must(cuStreamWaitEvent(s2, copied, CU_EVENT_WAIT_DEFAULT));
#endif
  must(cuMemsetD32Async(b, 0, kBytes / 4, s2));  // @SECOND
}
