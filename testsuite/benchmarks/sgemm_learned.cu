// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A square single-precision product of cuBLAS, side 4,096, timed like vadd_learned.cu: a kernel that computes instead
// of moving memory, and that comes from a closed library.
//
// usage: sgemm_learned [BLOCKS [LAUNCHES [UNTIMED]]]
// prints {"ms": ..., "launches": ...}: the median block, for one product
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "steady.h"

int main(int argc, char** argv) {
  constexpr int kSide = 4096;
  constexpr size_t kBytes = size_t{kSide} * kSide * sizeof(float);
  float *a, *b, *c;
  MUST(cudaMalloc(&a, kBytes) == cudaSuccess);
  MUST(cudaMalloc(&b, kBytes) == cudaSuccess);
  MUST(cudaMalloc(&c, kBytes) == cudaSuccess);
  MUST(cudaMemset(a, 0, kBytes) == cudaSuccess);
  MUST(cudaMemset(b, 0, kBytes) == cudaSuccess);
  cublasHandle_t blas;
  MUST(cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS);
  const float one = 1.0f, zero = 0.0f;
  time_steady(Plan(argc, argv, {.blocks = 20, .launches = 5, .untimed = 20}), [&] {
    MUST(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &one, a, kSide, b, kSide, &zero, c, kSide) ==
         CUBLAS_STATUS_SUCCESS);
  });
  return 0;
}
