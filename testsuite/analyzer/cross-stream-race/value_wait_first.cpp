// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A wait for a value may be submitted before the work behind which it is written: then that work comes first. Once
// the host has waited for the stream, the value is there, and what comes later is ordered by nothing.
#include <cuda.h>

#include <cstddef>

void hand_over(CUdeviceptr flag, CUdeviceptr data, std::size_t n) {
  CUstream producer, consumer;
  cuStreamCreate(&producer, CU_STREAM_NON_BLOCKING);
  cuStreamCreate(&consumer, CU_STREAM_NON_BLOCKING);
  cuStreamWaitValue32(consumer, flag, 1, CU_STREAM_WAIT_VALUE_GEQ);
  cuMemsetD8Async(data, 2, n, consumer);
  cuMemsetD8Async(data, 1, n, producer);
  cuStreamWriteValue32(producer, flag, 1, 0);
  cuStreamSynchronize(consumer);
#ifndef FIXED
  cuMemsetD8Async(data, 3, n, consumer);
  cuMemsetD32Async(data, 4, n / 4, producer);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cuMemsetD32Async on stream 'producer' may write 'data' while cuMemsetD8Async on stream 'consumer' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'data' is written here, on stream 'consumer'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'consumer' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'producer' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'producer' after stream 'consumer': record an event in stream 'consumer' after the write and let stream 'producer' wait for it with cuStreamWaitEvent before cuMemsetD32Async
#endif
  cuStreamSynchronize(producer);
  cuStreamSynchronize(consumer);
}
