// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which streams may have work, when a launch is to be measured: the legacy one, and each that a call has named and that
// is still there. Where others may have work, too, that is said: a thread's default stream, one of more streams than
// there is room for, and one whose context has ended.
//
// RUN: %build %s -o %t
// RUN: %measured COUNT %expect 0 %streamsan run -- %t 2>&1 | %filecheck %s --check-prefix=USED
// RUN: %measured COUNT %expect 0 %streamsan run -- %t thread 2>&1 | %filecheck %s --check-prefixes=FEW,LOST
// RUN: %measured COUNT %expect 0 %streamsan run -- %t many 2>&1 | %filecheck %s --check-prefixes=FEW,LOST
// RUN: %measured COUNT %expect 0 %streamsan run -- %t context 2>&1 | %filecheck %s --check-prefixes=FEW,LOST
// REQUIRES: nulldriver
//
// COUNT: first streams
// COUNT: second streams
// COUNT: third streams
//
// USED: first{{.*}} is not measured: 2 streams may have work
// USED: second{{.*}} is not measured: 4 streams may have work
// USED: third{{.*}} is not measured: 3 streams may have work
// FEW: first{{.*}} is not measured: 2 streams may have work
// LOST: second{{.*}} is not measured: not all streams are known that may have work
#include <cstring>

#include "must.h"

__global__ void first(float*) {}
__global__ void second(float*) {}
__global__ void third(float*) {}

constexpr int kStreams = 70;

cudaStream_t make_stream() {
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

int main(int argc, char** argv) {
  const char* more = argc > 1 ? argv[1] : "";
  float* buffer;
  must(cudaMalloc(&buffer, 4096));
  char* others;
  must(cudaMalloc(&others, kStreams * 16));
  cudaEvent_t event;
  must(cudaEventCreate(&event));
  cudaStream_t used = make_stream();
  cudaStream_t filled = make_stream();
  cudaStream_t waits = make_stream();
  make_stream();  // never used
  first<<<1, 32, 0, used>>>(buffer);
  must(cudaGetLastError());
  if (std::strcmp(more, "thread") == 0) {
    must(cudaMemsetAsync(others, 0, 16, cudaStreamPerThread));
  } else if (std::strcmp(more, "many") == 0) {
    for (int i = 0; i < kStreams; ++i) must(cudaMemsetAsync(others + i * 16, 0, 16, make_stream()));
  } else if (std::strcmp(more, "context") == 0) {
    must(cudaDeviceReset());
    must(cudaMalloc(&buffer, 4096));
    used = make_stream();
    filled = make_stream();
  } else {
    must(cudaMemsetAsync(others, 0, 16, filled));
    must(cudaEventRecord(event, used));
    must(cudaStreamWaitEvent(waits, event, 0));
  }
  second<<<1, 32, 0, used>>>(buffer);
  must(cudaGetLastError());
  must(cudaStreamDestroy(filled));
  third<<<1, 32, 0, used>>>(buffer);
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
