// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two host threads with a stream each, which wait for their own work only. That they took turns in this run is chance.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=hints=1 %run %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=hints=1 %silent %t.fixed
//
// CHECK: NOTE: streamsan: streams-never-overlap: stream 1 and stream 2 never overlap
// CHECK-NOT: NOTE:
// CHECK: SUMMARY: streamsan: no errors, 1 note;
#include <thread>

#include "must.h"

__global__ void step(char*) {}

int main() {
  char* buffers[2];
  cudaStream_t streams[2];
  for (char*& each : buffers) must(cudaMalloc(&each, 4096));
  for (cudaStream_t& each : streams) must(cudaStreamCreate(&each));
  for (int i = 0; i < 40; ++i) {
    auto work = [&] {
      step<<<1, 32, 0, streams[i % 2]>>>(buffers[i % 2]);
      must(cudaStreamSynchronize(streams[i % 2]));
    };
#ifdef FIXED
    if (i % 2 == 1) {
      std::thread(work).join();
      continue;
    }
#endif
    work();
  }
}
