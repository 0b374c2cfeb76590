// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s
// RUN: %check async-copy-lifetime %s -- -DFIXED
//
// The user data of a host function is a local of the function that enqueues it.
#include <cuda_runtime.h>

struct Ticket {
  int number;
  int* counter;
};

static void finished(void* data) { *static_cast<Ticket*>(data)->counter += 1; }

void enqueue(cudaStream_t stream, int* counter) {
  Ticket ticket{1, counter};
  cudaLaunchHostFunc(stream, finished, &ticket);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
}
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: 'ticket' goes out of scope while cudaLaunchHostFunc on stream 'stream' still reads it [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'ticket' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:1: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
