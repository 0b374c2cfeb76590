// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work in turns on a side stream: what a turn made is used by the main stream and goes back before the side stream has waited
// for that use. Each turn begins with the wait, so nothing can go wrong. Without -DFIXED the side stream is given work in front
// of its wait.
//
// RUN: %build -DANNOTATED %s -o %t
// RUN: %run %t 2>&1 | %report
// RUN: %build -DANNOTATED -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: streamsan: release-while-in-use {{.*}}device memory
// CHECK: main{{.*}}[[BACK]]
// CHECK: cudaMemsetAsync
// CHECK: main{{.*}}[[USE]]
// CHECK: severity=latent
#include "caching_pool.h"

int main() {
  CachingPool pool;
  cudaStream_t main_stream, side;
  cudaEvent_t used, made;
  must(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  must(cudaEventCreate(&used));
  must(cudaEventCreate(&made));
  char* other;
  must(cudaMalloc(&other, 1024));
  for (int turn = 0; turn < 3; ++turn) {
#ifndef FIXED
    must(cudaMemsetAsync(other, 0, 1024, side));
#endif
    must(cudaEventRecord(used, main_stream));
    must(cudaStreamWaitEvent(side, used));
    char* block = pool.allocate(side);
    must(cudaMemsetAsync(block, 0, 1024, side));
    must(cudaEventRecord(made, side));
    must(cudaStreamWaitEvent(main_stream, made));
    must(cudaMemsetAsync(block, turn, 1024, main_stream));  // @USE
    pool.release(block);                                    // @BACK
  }
  must(cudaEventRecord(used, main_stream));
  must(cudaStreamWaitEvent(side, used));
  must(cudaFree(other));
}
