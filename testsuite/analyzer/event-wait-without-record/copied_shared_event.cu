// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check event-wait-without-record,cross-stream-race %s
//
// A copy of a shared pointer points to the same event.
#include <cuda_runtime.h>
#include <memory>

__global__ void paint(float* p) { p[threadIdx.x] = 1.0f; }

struct Tag {
  std::shared_ptr<cudaEvent_t> event;
};

static void set(Tag& to, const Tag& from) { to = from; }

void run(float* p) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  Tag first, second;
  first.event = std::make_shared<cudaEvent_t>();
  second.event = std::make_shared<cudaEvent_t>();
  cudaEventCreateWithFlags(first.event.get(), cudaEventDisableTiming);
  cudaEventCreateWithFlags(second.event.get(), cudaEventDisableTiming);
  paint<<<1, 32, 0, a>>>(p);
  cudaEventRecord(*first.event, a);
  set(second, first);
  cudaStreamWaitEvent(b, *second.event, 0);
  paint<<<1, 32, 0, b>>>(p);
  cudaStreamSynchronize(b);
}
