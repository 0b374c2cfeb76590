// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// A function that is given a stream leaves it out of one call.
#include <cuda_runtime.h>

__global__ void clear(float* p) { p[threadIdx.x] = 0.0f; }
__global__ void add(float* p, const float* x) { p[threadIdx.x] += x[threadIdx.x]; }

static void scale(float* p, cudaStream_t stream = nullptr) { clear<<<1, 32, 0, stream>>>(p); }

void launch(float* p, const float* x, cudaStream_t stream) {
#ifdef FIXED
  clear<<<1, 32, 0, stream>>>(p);
  scale(p, stream);
#else
  clear<<<1, 32>>>(p);  // FIRES: omitted-stream
  scale(p);             // FIRES: omitted-stream
#endif
  add<<<1, 32, 0, stream>>>(p, x);
}

void copy(float* to, const float* from, size_t bytes, cudaStream_t stream) {
#ifdef FIXED
  cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
#else
  cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice);  // FIRES: omitted-stream
#endif
  add<<<1, 32, 0, stream>>>(to, from);
}

// The host waits for the default stream; a helper enqueues nothing, or waits for its work; an event orders it; the
// stream is made here.
static float* grab(size_t bytes, cudaStream_t stream = nullptr) {
  float* p = nullptr;
  cudaMalloc(&p, bytes);
  cudaStreamSynchronize(stream);
  return p;
}
static float clocked(float* clock, cudaStream_t stream = nullptr) {
  float now = 0;
  clear<<<1, 1, 0, stream>>>(clock);
  cudaStreamSynchronize(stream);
  cudaMemcpy(&now, clock, sizeof(now), cudaMemcpyDeviceToHost);
  return now;
}
float timed(float* clock, float* p, const float* x, cudaStream_t stream) {
  const float before = clocked(clock);
  add<<<1, 32, 0, stream>>>(p, x);
  cudaStreamSynchronize(stream);
  return clocked(clock) - before;
}
void set_up(float* p, const float* x, cudaStream_t stream) {
  clear<<<1, 32>>>(p);
  cudaDeviceSynchronize();
  add<<<1, 32, 0, stream>>>(p, x);
}
float* grabbed(const float* x, cudaStream_t stream) {
  float* p = grab(128);
  add<<<1, 32, 0, stream>>>(p, x);
  return p;
}
void joined(float* p, const float* x, cudaStream_t stream, cudaEvent_t ready) {
  clear<<<1, 32>>>(p);
  cudaEventRecord(ready);
  cudaStreamWaitEvent(stream, ready, 0);
  add<<<1, 32, 0, stream>>>(p, x);
}
void made(float* p, cudaStream_t& stream) {
  cudaStreamCreate(&stream);
  clear<<<1, 32>>>(p);
}
void never_used(float* p, [[maybe_unused]] cudaStream_t stream) { clear<<<1, 32>>>(p); }

// Who writes 0 has chosen; who asks knows; who has two streams says which.
void chosen(float* p, cudaStream_t stream) {
  clear<<<1, 32, 0, 0>>>(p);
  cudaStreamSynchronize(stream);
}
void asked(float* p, cudaStream_t stream) {
  if (stream == nullptr) {
    clear<<<1, 32>>>(p);
  } else {
    clear<<<1, 32, 0, stream>>>(p);
  }
}
void unused(float* p, cudaStream_t) { clear<<<1, 32>>>(p); }
