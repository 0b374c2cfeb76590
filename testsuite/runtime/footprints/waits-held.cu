// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// While the agent changes code, no other thread may have a stream wait for something, or destroy one: those calls come
// back when it is done. Other calls go on.
//
// RUN: %build %s -o %t
// RUN: %measured HOLDS %expect 0 %run %t wait
// RUN: %measured HOLDS %expect 0 %run %t function
// RUN: %measured HOLDS %expect 0 %run %t destroy
// RUN: %measured HOLDS %expect 0 %run %t fill
// RUN: %measured HOLDS %expect 0 %run %t record
// REQUIRES: nulldriver
//
// HOLDS: add holds
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "must.h"

__global__ void add(float*) {}

std::atomic<bool> launching{false};
std::atomic<bool> over{false};
std::atomic<int> calls{0};  // that came back while the kernel was being launched

void call_often(const char* which, float* memory) {
  cudaStream_t stream;
  cudaEvent_t event;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  must(cudaEventCreate(&event));
  must(cudaEventRecord(event, stream));
  while (!over) {
    if (std::strcmp(which, "wait") == 0) {
      must(cudaStreamWaitEvent(stream, event, 0));
    } else if (std::strcmp(which, "function") == 0) {
      must(cudaLaunchHostFunc(stream, [](void*) {}, nullptr));
    } else if (std::strcmp(which, "destroy") == 0) {
      cudaStream_t other;
      must(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
      must(cudaStreamDestroy(other));
    } else if (std::strcmp(which, "fill") == 0) {
      must(cudaMemsetAsync(memory, 0, 16, stream));
    } else {
      must(cudaEventRecord(event, stream));
    }
    if (launching) ++calls;
    usleep(2000);
  }
}

int main(int, char** argv) {
  float* buffer;
  must(cudaMalloc(&buffer, 4096));
  float* other;
  must(cudaMalloc(&other, 4096));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::thread thread(call_often, argv[1], other);
  usleep(20'000);
  launching = true;
  add<<<1, 32, 0, stream>>>(buffer);
  launching = false;
  must(cudaGetLastError());
  over = true;
  thread.join();
  must(cudaDeviceSynchronize());
  const bool is_held = std::strcmp(argv[1], "fill") != 0 && std::strcmp(argv[1], "record") != 0;
  // Of some hundred in 200 ms.
  const bool as_expected = is_held ? calls <= 3 : calls >= 10;
  if (!as_expected) std::printf("%d calls came back\n", calls.load());
  return as_expected ? 0 : 1;
}
