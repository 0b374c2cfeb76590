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
}  // FIRES: async-copy-lifetime
