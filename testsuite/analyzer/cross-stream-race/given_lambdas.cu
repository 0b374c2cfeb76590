// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
// RUN: %check cross-stream-race %s -- -DFIXED -DREPLACED
//
// A function calls what its callers give it, each something else: it is looked at once for each. Also where it passes it
// on, where a virtual function does, and where a pointer to a function is given. Not if it may call another one instead.
#include <cuda_runtime.h>

#include <functional>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
__global__ void scale(float* p) { p[threadIdx.x] *= 2.0f; }

int calls = 0;

std::function<void()> somebodys();

void timed(std::function<void()> work) {
#ifdef REPLACED
  static std::function<void()> other = somebodys();
  if (other) work = other;
#endif
  work();
  ++calls;
}

void twice(const std::function<void(cudaStream_t)>& work, cudaStream_t stream) {
  const std::function<void(cudaStream_t)>& same = work;
  same(stream);
}

class Executor {
 public:
  virtual ~Executor() = default;
  virtual void enqueue(const std::function<void(cudaStream_t)>& task) = 0;
};

class OneStream : public Executor {
 public:
  OneStream() { cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); }
  void enqueue(const std::function<void(cudaStream_t)>& task) override { task(stream_); }
  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

void measure(float* p) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  timed([&] { fill<<<1, 32, 0, a>>>(p); });
#if defined(FIXED) && !defined(REPLACED)
  timed([&] { cudaStreamSynchronize(a); });
#endif
  timed([&] { scale<<<1, 32, 0, b>>>(p); });
  // CHECK-MESSAGES: :[[@LINE-1]]:15: warning: kernel 'scale' on stream 'b' may update 'p' while kernel 'fill' on stream 'a' still writes it [streamsan-cross-stream-race]
  cudaDeviceSynchronize();
}

// One caller's lambda waits, the other one's does not.
static void between(float* p, const std::function<void(float*)>& step) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  fill<<<1, 32, 0, a>>>(p);
  step(p);
  scale<<<1, 32, 0, b>>>(p);
  // CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'scale' on stream 'b' may update 'p' while kernel 'fill' on stream 'a' still writes it [streamsan-cross-stream-race]
  cudaDeviceSynchronize();
}

void steps(float* p, int& counted) {
  between(p, [](float*) { cudaDeviceSynchronize(); });
#ifndef FIXED
  between(p, [&](float*) { ++counted; });
#endif
}

void queued(Executor& executor, float* p) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  executor.enqueue([p](cudaStream_t s) { fill<<<1, 32, 0, s>>>(p); });
#ifdef FIXED
  executor.enqueue([](cudaStream_t s) { cudaStreamSynchronize(s); });
#endif
  scale<<<1, 32, 0, side>>>(p);
  // CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'scale' on stream 'side' may update 'p' while kernel 'fill' on stream 'executor.stream_' still writes it [streamsan-cross-stream-race]
  cudaStreamSynchronize(side);
}

void use_both() {
  OneStream executor;
  float* p = nullptr;
  cudaMalloc(&p, 128);
  twice([p](cudaStream_t s) { fill<<<1, 32, 0, s>>>(p); }, executor.stream());
  twice([](cudaStream_t s) { cudaStreamSynchronize(s); }, executor.stream());
  cudaFree(p);
}
