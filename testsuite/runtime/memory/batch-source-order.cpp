// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch whose copies may read their sources out of stream order (R-CPY-32, R-CPY-33) does not wait for the fill in
// front of it in its own stream.
//
// RUN: %build_driver -DORDER=ANY %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DORDER=DURING_API_CALL %s -o %t.during
// RUN: %racy %t.during 2>&1 | %report
// RUN: %build_driver -DORDER=STREAM %s -o %t.stream
// RUN: %silent %t.stream
// RUN: %build_driver -DORDER=ANY -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write race on device memory {{.*}}4096 bytes overlap
// CHECK: Read by cuMemcpyBatchAsync
// CHECK: main{{.*}}[[BATCH]]
// CHECK: write by cuMemsetD32Async
// CHECK: main{{.*}}[[FILL]]
// CHECK: may read its source out of stream order
// CHECK: SUMMARY: streamsan: 1 error
#include <cuda.h>

#include "first_device.h"
#include "must.h"

#define PASTE(a, b) a##b
#define ORDER_OF(name) PASTE(CU_MEMCPY_SRC_ACCESS_ORDER_, name)

int main() {
  use_first_device();
  CUdeviceptr source, copy;
  must(cuMemAlloc(&source, 4096));
  must(cuMemAlloc(&copy, 4096));
  CUstream stream;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  must(cuMemsetD32Async(source, 0, 1024, stream));  // @FILL
#ifdef FIXED
  must(cuStreamSynchronize(stream));
#endif
  size_t bytes = 4096, first = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = ORDER_OF(ORDER);
  must(cuMemcpyBatchAsync(&copy, &source, &bytes, 1, &attributes, &first, 1, stream));  // @BATCH
}
