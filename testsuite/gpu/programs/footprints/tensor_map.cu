// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A box of a matrix by a tensor map: the kernel holds no address, only a descriptor that the host encoded. A footprint
// must be exact or say that it is not complete.
#include <cuda.h>

#include "../stage.h"
#include "bulk.cuh"
#include "truth.h"

namespace {

constexpr unsigned kBoxColumns = 64, kBoxRows = 32;
constexpr unsigned long long kColumns = 250, kRows = 100, kPitch = 256 * sizeof(float);

__global__ void load_box(const __grid_constant__ CUtensorMap map, int x, int y, float* out) {
  __shared__ alignas(128) float staged[kBoxRows * kBoxColumns];
  __shared__ alignas(8) unsigned long long barrier;
  // Elements of the box past the matrix are zeros in shared memory and count as transferred.
  begin_transfer(&barrier, sizeof(staged));
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            shared(staged)),
        "l"(&map), "r"(x), "r"(y), "r"(shared(&barrier))
        : "memory");
  }
  await_transfer(&barrier);
  if (threadIdx.x < 32) out[threadIdx.x] = staged[threadIdx.x];
}

}  // namespace

int main() {
  float *in, *out;
  CHECK(cudaMalloc(&in, kRows * kPitch));
  CHECK(cudaMalloc(&out, kBytes));
  CHECK(cudaMemset(in, 0, kRows * kPitch));
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) return 2;
  const cuuint64_t sizes[] = {kColumns, kRows};
  const cuuint64_t strides[] = {kPitch};
  const cuuint32_t box[] = {kBoxColumns, kBoxRows};
  const cuuint32_t steps[] = {1, 1};
  CUtensorMap map;
  if (reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry)(
          &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, in, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
          CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
          CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    std::fprintf(stderr, "no tensor map\n");
    return 2;
  }
  constexpr int kX = 200, kY = 8;  // 50 of the 64 columns are inside
  load_box<<<1, 128>>>(map, kX, kY, out);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  const char* first = reinterpret_cast<const char*>(in) + kY * kPitch + kX * sizeof(float);
  honest_truth("load_box", "read", {{first, (kColumns - kX) * sizeof(float), kBoxRows, kPitch}});
  honest_truth("load_box", "write", {{out, 32 * sizeof(float)}});
  return 0;
}
