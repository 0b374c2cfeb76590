// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two host threads share an event: one records it behind its copy, the other waits for it before its kernel. If the
// second thread asks first, its wait binds to nothing (R-EVT-07). The order of the threads is forced, so the outcome is
// the same in every run.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: Read{{.*}}consume
// CHECK: [[READ]]
// CHECK: write{{.*}}cudaMemcpyAsync
// CHECK: [[WRITE]]
// CHECK: cause=event-never-recorded
#include <atomic>
#include <thread>

#include "must.h"

__global__ void consume(const char*) {}

int main() {
  constexpr size_t kBytes = 4096;
  char *host, *buffer;
  must(cudaMallocHost(&host, kBytes));
  must(cudaMalloc(&buffer, kBytes));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  cudaEvent_t copied;
  must(cudaEventCreate(&copied));
  std::atomic<bool> recorded{false}, waited{false};

  std::thread producer([&] {
    must(cudaMemcpyAsync(buffer, host, kBytes, cudaMemcpyHostToDevice, s1));  // @WRITE
#ifndef FIXED
    while (!waited) std::this_thread::yield();
#endif
    must(cudaEventRecord(copied, s1));
    recorded = true;
  });
  std::thread consumer([&] {
#ifdef FIXED
    while (!recorded) std::this_thread::yield();
#endif
    must(cudaStreamWaitEvent(s2, copied));
    waited = true;
    while (!recorded) std::this_thread::yield();
    consume<<<1, 32, 0, s2>>>(buffer);  // @READ
    must(cudaGetLastError());
  });
  producer.join();
  consumer.join();
}
