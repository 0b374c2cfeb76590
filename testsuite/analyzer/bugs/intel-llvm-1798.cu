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
  cuMemcpyDtoDAsync(out, buffer.memory, sizeof(host), queue);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cuMemcpyDtoDAsync (device to device) on non-blocking stream 'queue' may read 'buffer.memory' while cuMemcpyHtoD (host to device) on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-14]]:3: note: 'buffer.memory' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-4]]:19: note: in the call to 'create_buffer' here
// CHECK-NOTES: :[[@LINE-16]]:3: note: cuMemcpyHtoD (host to device) returns when its work may still be running (R-CPY-01)
// CHECK-NOTES: :[[@LINE-8]]:3: note: stream 'queue' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-19]]:3: note: 'buffer.memory' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: stream 'queue' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'queue' wait for it with cuStreamWaitEvent before cuMemcpyDtoDAsync (device to device)
  cuStreamSynchronize(queue);
}
