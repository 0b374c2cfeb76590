// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams that are created, used and destroyed in a loop share handles. Each life of a handle is a stream of its own.
// Here every one of them takes the buffer over from a long-lived stream and hands it back: silent. One that does not
// wait for its turn is a race, although an earlier stream with the same handle had waited.
//
// RUN: %build %s -o %t
// RUN: %silent %t
// RUN: %build -DSKIP_ONE %s -o %t.skip
// RUN: %racy %t.skip 2>&1 | %report
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SHORT]]
// CHECK: main{{.*}}[[LONG]]
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t long_lived;
  must(cudaStreamCreateWithFlags(&long_lived, cudaStreamNonBlocking));
  cudaEvent_t there, back;
  must(cudaEventCreate(&there));
  must(cudaEventCreate(&back));
  for (int i = 0; i < 100; ++i) {
    must(cudaMemsetAsync(buffer, i, 4096, long_lived));  // @LONG
    must(cudaEventRecord(there, long_lived));
    cudaStream_t stream;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifdef SKIP_ONE
    if (i != 50)
#endif
      must(cudaStreamWaitEvent(stream, there));
    must(cudaMemsetAsync(buffer, i, 4096, stream));  // @SHORT
    must(cudaEventRecord(back, stream));
    must(cudaStreamDestroy(stream));
    must(cudaStreamWaitEvent(long_lived, back));
  }
}
