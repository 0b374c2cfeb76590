// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copy, kernel, copy, kernel: events in both directions around one buffer. Two buffers let the copy of one turn run
// beside the kernel of the turn before.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: streams-never-overlap: stream 1 and stream 2 never overlap
// CHECK-NEXT: Evidence: 40 pieces of work took 39 turns from stream to stream, and each was ordered after the one before: 20 by cudaStreamWaitEvent ([[READY]]), 19 by cudaStreamWaitEvent ([[FREE]]). In 0 of them the two pieces share no memory. Streams that take turns are not faster than one.
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include "must.h"

__global__ void use(char*) {}

int main() {
#ifdef FIXED
  constexpr int kBuffers = 2;
#else
  constexpr int kBuffers = 1;
#endif
  char *device[kBuffers], *host;
  for (char*& each : device) must(cudaMalloc(&each, 4096));
  must(cudaMallocHost(&host, 4096));
  cudaStream_t copies, kernels;
  for (cudaStream_t* each : {&copies, &kernels}) must(cudaStreamCreateWithFlags(each, cudaStreamNonBlocking));
  cudaEvent_t ready[kBuffers], used[kBuffers];
  for (cudaEvent_t& each : ready) must(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
  for (cudaEvent_t& each : used) must(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
  for (int i = 0; i < 20; ++i) {
    const int slot = i % kBuffers;
    if (i >= kBuffers) must(cudaStreamWaitEvent(copies, used[slot]));  // @FREE
    must(cudaMemcpyAsync(device[slot], host, 4096, cudaMemcpyHostToDevice, copies));
    must(cudaEventRecord(ready[slot], copies));
    must(cudaStreamWaitEvent(kernels, ready[slot]));  // @READY
    use<<<1, 32, 0, kernels>>>(device[slot]);
    must(cudaEventRecord(used[slot], kernels));
  }
  must(cudaDeviceSynchronize());
}
