// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product by cuBLAS on parts of larger matrices: m x k of A, k x n of B and m x n of C, all with leading dimensions
// larger than their columns. The library's kernels are closed and their names its own, so what all launches together
// touch is compared. Allowed besides: the workspace, which is the program's own here and so has a known place.
#include <cublas_v2.h>

#include "../stage.h"
#include "truth.h"

#define CHECK_BLAS(call) \
  if ((call) != CUBLAS_STATUS_SUCCESS) return 2

int main() {
  constexpr int kM = 256, kN = 192, kK = 128;
  constexpr int kLeadA = 272, kLeadB = 144, kLeadC = 320;
  constexpr size_t kWorkspace = 4 << 20;
  float *a, *b, *c;
  void* workspace;
  CHECK(cudaMalloc(&a, kLeadA * kK * sizeof(float)));
  CHECK(cudaMalloc(&b, kLeadB * kN * sizeof(float)));
  CHECK(cudaMalloc(&c, kLeadC * kN * sizeof(float)));
  CHECK(cudaMalloc(&workspace, kWorkspace));
  CHECK(cudaMemset(a, 0, kLeadA * kK * sizeof(float)));
  CHECK(cudaMemset(b, 0, kLeadB * kN * sizeof(float)));
  CHECK(cudaMemset(c, 0, kLeadC * kN * sizeof(float)));
  cublasHandle_t blas;
  CHECK_BLAS(cublasCreate(&blas));
  CHECK_BLAS(cublasSetStream(blas, non_blocking_stream()));
  CHECK_BLAS(cublasSetWorkspace(blas, workspace, kWorkspace));
  CHECK(cudaDeviceSynchronize());
  const float one = 1.0f, zero = 0.0f;
  CHECK_BLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &one, a, kLeadA, b, kLeadB, &zero, c, kLeadC));
  CHECK(cudaDeviceSynchronize());
  say("truth", "", "\"all\"", "read",
      {{a, kM * sizeof(float), kK, kLeadA * sizeof(float)}, {b, kK * sizeof(float), kN, kLeadB * sizeof(float)}});
  say("truth", "", "\"all\"", "write", {{c, kM * sizeof(float), kN, kLeadC * sizeof(float)}});
  for (const char* mode : {"read", "write", "atomic"}) {
    say("allowed", "", "\"all\"", mode, {{workspace, kWorkspace}}, R"(, "why": "the workspace of the handle")");
  }
  return 0;
}
