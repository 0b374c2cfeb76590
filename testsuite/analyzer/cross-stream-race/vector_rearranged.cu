// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// The first element is another one than was written, once the vector or list is rearranged or its elements are replaced.
#include <cuda_runtime.h>

#include <deque>
#include <list>
#include <utility>
#include <vector>

__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void use(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

struct Two {
  Two() {
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaMalloc(&first, 1024);
    cudaMalloc(&second, 1024);
  }
  cudaStream_t a, b;
  float *first, *second;
};

template <typename Rearrange>
void vector_by(Two& two, float* out, Rearrange rearrange) {
  std::vector<float*> v;
  v.push_back(two.first);
  v.push_back(two.second);
  fill<<<1, 256, 0, two.a>>>(v[0]);
  rearrange(v);
  use<<<1, 256, 0, two.b>>>(v[0], out);  // FIRES: cross-stream-race
}

void not_rearranged(float* out) {
  Two two;
  vector_by(two, out, [&](std::vector<float*>& v) { v.push_back(two.second); });
}

#define VECTOR(name, ...)                                \
  void name(float* out) {                                \
    Two two;                                             \
    std::vector<float*> v;                               \
    v.push_back(two.first);                              \
    v.push_back(two.second);                             \
    fill<<<1, 256, 0, two.a>>>(v[0]);                    \
    __VA_ARGS__                                          \
    use<<<1, 256, 0, two.b>>>(v[0], out);                \
  }

VECTOR(filled_again, v.clear(); v.push_back(two.second);)
VECTOR(inserted, v.insert(v.begin(), two.second);)
VECTOR(erased, v.erase(v.begin());)
VECTOR(assigned, v.assign(2, two.second);)
VECTOR(replaced, std::vector<float*> w; w.push_back(two.second); v = w;)
VECTOR(taken_over, std::vector<float*> w; w.push_back(two.second); v = std::move(w);)
VECTOR(swapped, std::vector<float*> w; w.push_back(two.second); v.swap(w);)
VECTOR(by_another_name, auto& w = v; w.clear(); w.push_back(two.second);)
VECTOR(by_a_loop, for (float*& p : v) p = two.second;)

void put_in_front(float* out) {
  Two two;
  std::deque<float*> d;
  d.push_back(two.first);
  fill<<<1, 256, 0, two.a>>>(d[0]);
  d.push_front(two.second);
  use<<<1, 256, 0, two.b>>>(d[0], out);
}

void spliced(float* out) {
  Two two;
  std::list<float*> from, to;
  from.push_back(two.first);
  from.push_back(two.second);
  to.push_back(two.first);
  fill<<<1, 256, 0, two.a>>>(from.front());
  to.splice(to.begin(), from, from.begin());
  use<<<1, 256, 0, two.b>>>(from.front(), out);
}
