// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream that waits for the default stream is destroyed, and one that does not gets its handle. What is copied in the
// new one is not waited for by a wait for the default stream, as it was in the old one: the host's read is a race. The
// twin's second stream is of the first one's kind.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write host race on pinned host memory
// CHECK: main{{.*}}[[READ]]
// CHECK: Previous write by cudaMemcpyAsync (device to host)
// CHECK: main{{.*}}[[COPY]]
// CHECK: 1 error
#include "must.h"

int main() {
  constexpr size_t kBytes = 1 << 16;
  char *pinned, *device, *other;
  must(cudaMallocHost(&pinned, kBytes));
  must(cudaMalloc(&device, kBytes));
  must(cudaMalloc(&other, kBytes));
  unsigned sum = 0;
  for (int round = 0; round < 2; ++round) {
#ifdef FIXED
    const unsigned flags = cudaStreamDefault;
#else
    const unsigned flags = round == 0 ? cudaStreamDefault : cudaStreamNonBlocking;
#endif
    cudaStream_t stream;
    must(cudaStreamCreateWithFlags(&stream, flags));
    must(cudaMemcpyAsync(pinned, device, kBytes, cudaMemcpyDeviceToHost, stream));  // @COPY
    // What the default stream does waits for the first kind of stream, and the host for that.
    must(cudaMemsetAsync(other, round, kBytes, cudaStreamLegacy));
    must(cudaStreamSynchronize(cudaStreamLegacy));
    sum += static_cast<volatile char*>(pinned)[round];  // @READ
    must(cudaStreamSynchronize(stream));
    must(cudaStreamDestroy(stream));
  }
  return sum > 2 * 127;  // it is used
}
