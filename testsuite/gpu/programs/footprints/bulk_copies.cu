// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bulk copies of compute capability 9.0: one thread asks for kilobytes, and a unit of its own moves them. From
// global to shared memory, back, and back with an addition, which is atomic for each element.
#include "../stage.h"
#include "bulk.cuh"
#include "truth.h"

namespace {

constexpr int kInts = 500;  // of each block: 2,000 bytes, a multiple of 16 as bulk copies ask for
constexpr int kStep = 520;  // from block to block

__global__ void bulk_load(const int* in, int* out) {
  __shared__ alignas(128) int staged[kInts];
  __shared__ alignas(8) unsigned long long barrier;
  begin_transfer(&barrier, sizeof(staged));
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared(staged)),
        "l"(in + blockIdx.x * kStep), "r"(static_cast<unsigned>(sizeof(staged))), "r"(shared(&barrier))
        : "memory");
  }
  await_transfer(&barrier);
  if (threadIdx.x == 0) out[blockIdx.x] = staged[0] + staged[kInts - 1];
}

__device__ void fill_shared(int* staged) {
  for (int i = threadIdx.x; i < kInts; i += blockDim.x) staged[i] = i;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

__device__ void await_stores() {
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
}

__global__ void bulk_store(int* out) {
  __shared__ alignas(128) int staged[kInts];
  fill_shared(staged);
  if (threadIdx.x != 0) return;
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + blockIdx.x * kStep),
               "r"(shared(staged)), "r"(static_cast<unsigned>(sizeof(staged)))
               : "memory");
  await_stores();
}

__global__ void bulk_reduce(int* out) {
  __shared__ alignas(128) int staged[kInts];
  fill_shared(staged);
  if (threadIdx.x != 0) return;
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(out + blockIdx.x * kStep),
      "r"(shared(staged)), "r"(static_cast<unsigned>(sizeof(staged)))
      : "memory");
  await_stores();
}

}  // namespace

int main() {
  constexpr int kBlocks = 12;
  int *in = zeros<int>(2 * kBlocks * kStep), *firsts = zeros<int>(kBlocks);
  int *stored = zeros<int>(2 * kBlocks * kStep), *reduced = zeros<int>(2 * kBlocks * kStep);
  bulk_load<<<kBlocks, 64>>>(in + 4, firsts);
  bulk_store<<<kBlocks, 64>>>(stored + 8);
  bulk_reduce<<<kBlocks, 64>>>(reduced + 12);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  truth("bulk_load", "read", {{in + 4, kInts * 4, kBlocks, kStep * 4}});
  truth("bulk_load", "write", {{firsts, kBlocks * 4}});
  truth("bulk_store", "write", {{stored + 8, kInts * 4, kBlocks, kStep * 4}});
  truth("bulk_reduce", "atomic", {{reduced + 12, kInts * 4, kBlocks, kStep * 4}});
  return 0;
}
