// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic operations: with and without a result, of every width. They are a mode of their own, neither read nor write.
#include "../stage.h"
#include "truth.h"

namespace {

__global__ void add_floats(float* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sums[3 * (i % 100)], 1.0f);
}

/// The result is used: every thread takes a place of its own.
__global__ void take_places(int* next, int* places, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) places[atomicAdd(next, 1)] = i;
}

__global__ void reduce_without_result(unsigned* sums, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) asm volatile("red.global.add.u32 [%0], %1;" ::"l"(sums + i), "r"(1u) : "memory");
}

__global__ void claim(int* owners, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicCAS(&owners[i / 2], 0, i + 1);
}

__global__ void wide(unsigned long long* sums, double* more, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMax(&sums[i], static_cast<unsigned long long>(i));
  atomicAdd(&more[2 * i], 1.0);
}

/// A word that is loaded, and one that is stored, beside the atomic one.
__global__ void mixed(int* words, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* own = words + 3 * i;
  own[2] = own[0] + 1;
  atomicExch(&own[1], i);
}

}  // namespace

int main() {
  constexpr int kThreads = 1001;
  constexpr int kBlocks = 8;
  float* sums = zeros<float>(1000);
  int *next = zeros<int>(1), *places = zeros<int>(2 * kThreads);
  unsigned* reduced = zeros<unsigned>(2 * kThreads);
  int* owners = zeros<int>(kThreads);
  auto* large = zeros<unsigned long long>(2 * kThreads);
  double* more = zeros<double>(2 * kThreads);
  int* words = zeros<int>(3 * kThreads);
  add_floats<<<kBlocks, 128>>>(sums, kThreads);
  take_places<<<kBlocks, 128>>>(next, places, kThreads);
  reduce_without_result<<<kBlocks, 128>>>(reduced, kThreads);
  claim<<<kBlocks, 128>>>(owners, kThreads);
  wide<<<kBlocks, 128>>>(large, more, kThreads);
  mixed<<<kBlocks, 128>>>(words, kThreads);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  truth("add_floats", "atomic", {{sums, 4, 100, 12}});
  truth("take_places", "atomic", {{next, 4}});
  truth("take_places", "write", {{places, kThreads * 4}});
  truth("reduce_without_result", "atomic", {{reduced, kThreads * 4}});
  truth("claim", "atomic", {{owners, (kThreads + 1) / 2 * 4}});
  truth("wide", "atomic", {{large, kThreads * 8}, {more, 8, kThreads, 16}});
  truth("mixed", "read", {{words, 4, kThreads, 12}});
  truth("mixed", "write", {{words + 2, 4, kThreads, 12}});
  truth("mixed", "atomic", {{words + 1, 4, kThreads, 12}});
  return 0;
}
