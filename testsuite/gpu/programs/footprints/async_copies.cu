// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async: threads that copy from global into shared memory past their registers, 16, 8 and 4 bytes at a time, and the
// guarded form of every matrix kernel, in which the threads past the edge copy no byte at all and store zeros.
#include <cuda_pipeline.h>

#include "../stage.h"
#include "truth.h"

namespace {

template <class T>
__device__ void write_back(const T* staged, T* out, int n) {
  asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = staged[threadIdx.x];
}

__global__ void sixteen_bytes(const int4* in, int4* out, int n) {
  __shared__ int4 staged[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto there = static_cast<unsigned>(__cvta_generic_to_shared(&staged[threadIdx.x]));
  if (i < n) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(there), "l"(in + i) : "memory");
  write_back(staged, out, n);
}

__global__ void four_bytes(const int* in, int* out, int n) {
  __shared__ int staged[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto there = static_cast<unsigned>(__cvta_generic_to_shared(&staged[threadIdx.x]));
  if (i < n) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(there), "l"(in + i) : "memory");
  write_back(staged, out, n);
}

__global__ void eight_bytes(const int2* in, int2* out, int n) {
  __shared__ int2 staged[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) __pipeline_memcpy_async(&staged[threadIdx.x], in + i, sizeof(int2));
  write_back(staged, out, n);
}

/// Every thread copies; those from `n` on copy 0 of 16 bytes.
__global__ void guarded(const int4* in, int4* out, int n) {
  __shared__ int4 staged[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto there = static_cast<unsigned>(__cvta_generic_to_shared(&staged[threadIdx.x]));
  const int bytes = i < n ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(there), "l"(in + i), "r"(bytes) : "memory");
  write_back(staged, out, gridDim.x * blockDim.x);
}

}  // namespace

int main() {
  constexpr int kElements = 1001;
  constexpr int kBlocks = 8;
  constexpr int kThreads = kBlocks * 128;
  int4 *in16 = zeros<int4>(2 * kThreads), *out16 = zeros<int4>(2 * kThreads);
  int *in4 = zeros<int>(2 * kThreads), *out4 = zeros<int>(2 * kThreads);
  int2 *in8 = zeros<int2>(2 * kThreads), *out8 = zeros<int2>(2 * kThreads);
  int4* guarded_out = zeros<int4>(2 * kThreads);
  sixteen_bytes<<<kBlocks, 128>>>(in16 + 1, out16 + 2, kElements);
  four_bytes<<<kBlocks, 128>>>(in4 + 1, out4 + 2, kElements);
  eight_bytes<<<kBlocks, 128>>>(in8 + 1, out8 + 2, kElements);
  guarded<<<kBlocks, 128>>>(in16 + 5, guarded_out, kElements);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  truth("sixteen_bytes", "read", {{in16 + 1, kElements * 16}});
  truth("sixteen_bytes", "write", {{out16 + 2, kElements * 16}});
  truth("four_bytes", "read", {{in4 + 1, kElements * 4}});
  truth("four_bytes", "write", {{out4 + 2, kElements * 4}});
  truth("eight_bytes", "read", {{in8 + 1, kElements * 8}});
  truth("eight_bytes", "write", {{out8 + 2, kElements * 8}});
  truth("guarded", "read", {{in16 + 5, kElements * 16}});
  truth("guarded", "write", {{guarded_out, kThreads * 16}});
  return 0;
}
