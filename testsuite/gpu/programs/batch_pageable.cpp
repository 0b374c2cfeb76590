// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vector that a batch of copies still uses is freed. A single copy would be done with pageable memory when its call
// returns; a batch is not: to a vector it writes in stream order (`download`, R-CPY-34), and from one it reads when it
// likes if it was given no access order (`upload`, R-CPY-33). Repaired: the host waits first.
#include <cstring>
#include <vector>

#include "driver_api.h"

namespace {

constexpr size_t kBytes = 4096;

void copy(CUdeviceptr to, CUdeviceptr from, CUmemcpySrcAccessOrder order, CUstream stream) {
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = order;
  size_t begin = 0, bytes = kBytes;
  CHECK(cuMemcpyBatchAsync(&to, &from, &bytes, 1, &attributes, &begin, 1, stream));  // site: batch
}

CUdeviceptr address(std::vector<char>& bytes) { return reinterpret_cast<CUdeviceptr>(bytes.data()); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool upload = std::strcmp(argv[1], "upload") == 0;
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CUdeviceptr memory;
  CUstream stream;
  CHECK(cuMemAlloc(&memory, kBytes));
  CHECK(cuMemsetD8(memory, 7, kBytes));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuCtxSynchronize());
  char last = 7;
  {
    std::vector<char> bytes(kBytes, 7);
    if (upload)
      copy(memory, address(bytes), CU_MEMCPY_SRC_ACCESS_ORDER_ANY, stream);
    else
      copy(address(bytes), memory, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, stream);
#ifdef FIXED
    CHECK(cuStreamSynchronize(stream));
    last = bytes.back();
#endif
  }  // site: vector
  CHECK(cuCtxSynchronize());
  return last == 7 ? 0 : 3;
}
