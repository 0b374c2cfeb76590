// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights are uploaded on one stream while another one multiplies by them: by cublasGemmEx(), with -DLIGHT by
// cublasLtMatmul(), with -DCAPTURED from a graph. They lie at the front of a larger buffer, and on compute capability 9.0 the
// kernel copies its tiles by tensor maps: what it reads is known by the documents of cuBLAS alone.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>

#include "stage.h"

static void check_blas(cublasStatus_t status, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s:%d: cuBLAS status %d\n", __FILE__, line, static_cast<int>(status));
  std::exit(2);
}
#define CHECK_BLAS(call) check_blas((call), __LINE__)

constexpr int kSide = 1024;
constexpr size_t kElements = size_t{kSide} * kSide;

int main() {
  auto* weights = zeros<__nv_bfloat16>(2 * kElements);
  auto* x = zeros<__nv_bfloat16>(kElements);
  auto* y = zeros<__nv_bfloat16>(kElements);
  auto* host = pinned_memory<__nv_bfloat16>(kElements);
  cudaStream_t copies = non_blocking_stream(), compute = non_blocking_stream();
  cudaEvent_t uploaded = new_event();
  void* workspace = zeros<char>(size_t{32} << 20);
  const float one = 1, zero = 0;
  for (size_t i = 0; i < kElements; ++i) host[i] = __float2bfloat16(1.0f / kSide);
  CHECK(cudaMemcpy(weights, host, kElements * sizeof *host, cudaMemcpyHostToDevice));
  for (size_t i = 0; i < kElements; ++i) host[i] = __float2bfloat16(1.0f);
  CHECK(cudaMemcpy(x, host, kElements * sizeof *host, cudaMemcpyHostToDevice));
  for (size_t i = 0; i < kElements; ++i) host[i] = __float2bfloat16(1.0f / kSide);
  CHECK(cudaDeviceSynchronize());
#ifdef LIGHT
  cublasLtHandle_t blas;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t layout;
  CHECK_BLAS(cublasLtCreate(&blas));
  CHECK_BLAS(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  CHECK_BLAS(cublasLtMatrixLayoutCreate(&layout, CUDA_R_16BF, kSide, kSide, kSide));
#else
  cublasHandle_t blas;
  CHECK_BLAS(cublasCreate(&blas));
  CHECK_BLAS(cublasSetStream(blas, compute));
  CHECK_BLAS(cublasSetWorkspace(blas, workspace, size_t{32} << 20));
#endif
#ifdef CAPTURED
  cudaGraph_t graph;
  cudaGraphExec_t step;
  CHECK(cudaStreamBeginCapture(compute, cudaStreamCaptureModeThreadLocal));
  CHECK_BLAS(cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, kSide, kSide, kSide, &one, weights, CUDA_R_16BF, kSide, x, CUDA_R_16BF, kSide, &zero, y, CUDA_R_16BF, kSide, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));  // site: captured
  CHECK(cudaStreamEndCapture(compute, &graph));
  CHECK(cudaGraphInstantiate(&step, graph, 0));
#endif
  for (int round = 0; round < 4; ++round) {
    CHECK(cudaMemcpyAsync(weights, host, kElements * sizeof *host, cudaMemcpyHostToDevice, copies));  // site: upload
#ifdef FIXED
    CHECK(cudaEventRecord(uploaded, copies));
    CHECK(cudaStreamWaitEvent(compute, uploaded));
#endif
#if defined(CAPTURED)
    CHECK(cudaGraphLaunch(step, compute));
#elif defined(LIGHT)
    CHECK_BLAS(cublasLtMatmul(blas, product, &one, weights, layout, x, layout, &zero, y, layout, y, layout, nullptr, workspace, size_t{32} << 20, compute));  // site: light
#else
    CHECK_BLAS(cublasGemmEx(blas, CUBLAS_OP_T, CUBLAS_OP_N, kSide, kSide, kSide, &one, weights, CUDA_R_16BF, kSide, x, CUDA_R_16BF, kSide, &zero, y, CUDA_R_16BF, kSide, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));  // site: product
#endif
#ifdef FIXED
    CHECK(cudaEventRecord(uploaded, compute));
    CHECK(cudaStreamWaitEvent(copies, uploaded));
#endif
  }
  CHECK(cudaStreamSynchronize(copies));
  CHECK(cudaStreamSynchronize(compute));
  CHECK(cudaMemcpy(host, y, sizeof *host, cudaMemcpyDeviceToHost));
  const float first = __bfloat162float(host[0]);
  expect_all(&first, 1, 1.0f);
  return 0;
}
