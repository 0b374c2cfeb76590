// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A slot structure per stage: its own stream, event and buffer. The event of the other slot is waited for.
#include <cuda_runtime.h>

struct Slot {
  cudaStream_t stream;
  cudaEvent_t done;
  float* buffer;
};

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void exchange(float* out) {
  Slot slots[2];
  for (Slot& slot : slots) {
    cudaStreamCreateWithFlags(&slot.stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming);
    cudaMalloc(&slot.buffer, 1024);
  }
  produce<<<1, 256, 0, slots[0].stream>>>(slots[0].buffer);
  cudaEventRecord(slots[0].done, slots[0].stream);
#ifdef FIXED
  cudaStreamWaitEvent(slots[1].stream, slots[0].done, 0);
#endif
  consume<<<1, 256, 0, slots[1].stream>>>(slots[0].buffer, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on stream 'slots[1].stream' may read 'slots[0].buffer' while kernel 'produce' on stream 'slots[0].stream' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'slots[0].buffer' is written here, on stream 'slots[0].stream'
// CHECK-NOTES: :[[@LINE-7]]:3: note: event 'slots[0].done' is recorded here, after the write, but stream 'slots[1].stream' does not wait for it
// CHECK-NOTES: :[[@LINE-13]]:5: note: stream 'slots[0].stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:5: note: stream 'slots[1].stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:5: note: 'slots[0].buffer' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: let stream 'slots[1].stream' wait for event 'slots[0].done' with cudaStreamWaitEvent before kernel 'consume'
  cudaStreamSynchronize(slots[1].stream);
  cudaStreamSynchronize(slots[0].stream);
}
