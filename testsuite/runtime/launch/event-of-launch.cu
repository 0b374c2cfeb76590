// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch may record an event by itself: cudaLaunchAttributeLaunchCompletionEvent, ...ProgrammaticEvent. Such an event is
// recorded, and a wait for it is an order with what is in front of the kernel. (With the kernel itself it is none:
// dependent/third-stream.cu.)
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: %build -DFIXED -DPROGRAMMATIC %s -o %t.programmatic
// RUN: %silent %t.programmatic
//
// CHECK: ERROR: streamsan: read-after-write
// CHECK: cause=event-never-recorded
#include "must.h"

__global__ void produce(char*) {}
__global__ void consume(const char*) {}

int main() {
  char* buffer;
  char* other;
  must(cudaMalloc(&buffer, 4096));
  must(cudaMalloc(&other, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  must(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  cudaEvent_t event;
  must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

  cudaLaunchAttribute attribute{};
#ifdef PROGRAMMATIC
  attribute.id = cudaLaunchAttributeProgrammaticEvent;
  attribute.val.programmaticEvent.event = event;
  attribute.val.programmaticEvent.triggerAtBlockStart = 1;
#else
  attribute.id = cudaLaunchAttributeLaunchCompletionEvent;
  attribute.val.launchCompletionEvent.event = event;
#endif
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = 32;
  config.stream = s1;
#ifdef FIXED
  config.attrs = &attribute;
  config.numAttrs = 1;
#endif
  must(cudaMemsetAsync(buffer, 0, 4096, s1));
  must(cudaLaunchKernelEx(&config, produce, other));
  must(cudaStreamWaitEvent(s2, event));
  consume<<<1, 32, 0, s2>>>(buffer);
}
