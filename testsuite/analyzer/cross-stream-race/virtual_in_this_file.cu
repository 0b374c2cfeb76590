// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A class that this file alone declares: no other file can derive from it, though it has a name that links. Where there
// are two overrides it is not known which one runs.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void use(float* p) { p[threadIdx.x] += 1.0f; }

struct Source {
  virtual ~Source() = default;
  virtual void load(float* p, cudaStream_t s) = 0;
  virtual void settle(cudaStream_t s) = 0;
};
struct Generator : Source {
  void load(float* p, cudaStream_t s) override { fill<<<1, 32, 0, s>>>(p); }
  void settle(cudaStream_t) override {}
};
struct Waiting : Generator {
  void settle(cudaStream_t s) override { cudaStreamSynchronize(s); }
};

void one(Source& source, float* p, cudaEvent_t loaded) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  source.load(p, a);
#ifdef FIXED
  cudaEventRecord(loaded, a);
  cudaStreamWaitEvent(b, loaded, 0);
#else
  (void)loaded;
#endif
  use<<<1, 32, 0, b>>>(p);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'use' on stream 'b' may update 'p' while kernel 'fill' on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-20]]:50: note: 'p' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-10]]:3: note: in the call to 'Generator::load' here
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before kernel 'use'
  cudaStreamSynchronize(b);
}

void two(Source& source, float* p) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  source.load(p, a);
  source.settle(a);
  use<<<1, 32, 0, b>>>(p);
  cudaStreamSynchronize(b);
}
