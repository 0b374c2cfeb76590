// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// What a callback runs is not known: two lambdas are put into it, somebody else can put one there, its address is
// taken, or a library keeps it. It may have waited: silent. stored_callback.cu has what is known, given_lambdas.cu what
// each caller gives.
#include <cuda_runtime.h>

#include <functional>
#include <vector>

__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void drain(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

static void both(float* data, float* out, const std::function<void(float*)>& wait) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  fill<<<1, 256, 0, a>>>(data);
  wait(data);
  drain<<<1, 256, 0, b>>>(data, out);
  cudaDeviceSynchronize();
}

void two_lambdas(float* data, float* out, cudaStream_t s, bool waits) {
  std::function<void(float*)> then = [s](float* p) { fill<<<1, 256, 0, s>>>(p); };
  if (waits) then = [](float*) { cudaDeviceSynchronize(); };
  both(data, out, then);
}

void from_outside(float* data, float* out, std::function<void(float*)> wait) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  fill<<<1, 256, 0, a>>>(data);
  wait(data);
  drain<<<1, 256, 0, b>>>(data, out);
  cudaDeviceSynchronize();
}

void replace(std::function<void(float*)>* what);

void address_taken(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  std::function<void(float*)> then = [a](float* p) { fill<<<1, 256, 0, a>>>(p); };
  replace(&then);
  fill<<<1, 256, 0, a>>>(data);
  then(data);
  drain<<<1, 256, 0, b>>>(data, out);
  cudaDeviceSynchronize();
}

void kept_in_a_list(float* data, float* out) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  std::vector<std::function<void()>> todo;
  fill<<<1, 256, 0, a>>>(data);
  todo.push_back([a] { cudaStreamSynchronize(a); });
  for (const auto& next : todo) next();
  drain<<<1, 256, 0, b>>>(data, out);
  cudaDeviceSynchronize();
}
