// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// intel/llvm#1798, IM: cuMemcpyHtoD when a buffer is made, then work in another stream.
#include <cuda.h>

struct Buffer {
  CUdeviceptr memory;
};

static Buffer create_buffer(const void* host, size_t bytes) {
  Buffer buffer{};
  cuMemAlloc(&buffer.memory, bytes);
  cuMemcpyHtoD(buffer.memory, host, bytes);
#ifdef FIXED
  cuStreamSynchronize(0);
#endif
  return buffer;
}

void run(CUdeviceptr out) {
  CUstream queue;
  cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING);
  const float host[64] = {1.0f};
  Buffer buffer = create_buffer(host, sizeof(host));
  cuMemcpyDtoDAsync(out, buffer.memory, sizeof(host), queue);  // FIRES: nonblocking-vs-default
  cuStreamSynchronize(queue);
}
