// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream of the second device fetches what a stream of the first one writes: the event orders them across the devices
// (R-EVT-02, R-CPY-41). Both streams are non-blocking: the default streams of the devices play no part.
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: env STREAMSAN_NULL_DEVICES=2 %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_NULL_DEVICES=2 %silent %t.fixed
// The program asks for a device that one alone does not have.
// RUN: %expect 99 %t.fixed 2>&1 | %filecheck %s --check-prefix=ALONE
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}cudaMemcpyPeerAsync{{.*}} on stream 2 of device 1 (non-blocking)
// CHECK: main{{.*}}[[READ]]
// CHECK: write{{.*}}produce{{.*}} on stream 1 of device 0 (non-blocking)
// CHECK: main{{.*}}[[WRITE]]
// CHECK: cause=event-not-waited-for streams=stream-1-of-device-0,stream-2-of-device-1
// CHECK-NOT: ERROR: streamsan:
// ALONE: a CUDA call failed with 101
#include <cstring>

#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

constexpr size_t kBytes = 4096;

int main() {
  char in[kBytes], out[kBytes] = {};
  std::memset(in, 7, sizeof(in));
  char *near, *far;
  cudaStream_t writer, reader;
  cudaEvent_t produced;
  must(cudaMalloc(&near, kBytes));
  must(cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking));
  must(cudaEventCreate(&produced));
  must(cudaSetDevice(1));
  must(cudaMalloc(&far, kBytes));
  must(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));

  must(cudaSetDevice(0));
  must(cudaMemcpyAsync(near, in, kBytes, cudaMemcpyHostToDevice, writer));
  produce<<<1, 32, 0, writer>>>(near);  // @WRITE
  must(cudaEventRecord(produced, writer));

  must(cudaSetDevice(1));
#ifdef FIXED
  must(cudaStreamWaitEvent(reader, produced));
#endif
  must(cudaMemcpyPeerAsync(far, 1, near, 0, kBytes, reader));  // @READ
  consume<<<1, 32, 0, reader>>>(far);
  must(cudaGetLastError());
  must(cudaMemcpyAsync(out, far, kBytes, cudaMemcpyDeviceToHost, reader));
  must(cudaStreamSynchronize(reader));
  return std::memcmp(in, out, kBytes) == 0 ? 0 : 2;
}
