// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mapped memory of the virtual memory interface is unmapped while a fill still runs. Unlike cudaFree nothing waits
// here, not even on today's driver (R-VMM-01).
//
// RUN: %build_driver %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build_driver -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: free-while-in-use
// CHECK: cuMemUnmap
// CHECK: main{{.*}}[[UNMAP]]
// CHECK: cuMemsetD8Async
// CHECK: main{{.*}}[[USE]]
// CHECK: allocated by cuMemMap
#include <cuda.h>

#include "first_device.h"
#include "must.h"

int main() {
  const CUdevice device = use_first_device();
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  size_t bytes;
  must(cuMemGetAllocationGranularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr address;
  must(cuMemAddressReserve(&address, bytes, 0, 0, 0));
  CUmemGenericAllocationHandle memory;
  must(cuMemCreate(&memory, bytes, &properties, 0));
  must(cuMemMap(address, bytes, 0, memory, 0));
  CUmemAccessDesc access = {};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  must(cuMemSetAccess(address, bytes, &access, 1));
  CUstream stream;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  must(cuMemsetD8Async(address, 0, bytes, stream));  // @USE
#ifdef FIXED
  must(cuStreamSynchronize(stream));
#endif
  must(cuMemUnmap(address, bytes));  // @UNMAP
}
