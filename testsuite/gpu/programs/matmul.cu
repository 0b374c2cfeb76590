// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chain of cuBLAS products on two streams, ordered by events: the calls of a closed library, for the comparison
// with CUPTI and as a silent program.
#include <cublas_v2.h>

#include "kernels.cuh"
#include "measured_end.h"
#include "stage.h"

static void check_blas(cublasStatus_t status, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s:%d: cuBLAS status %d\n", __FILE__, line, static_cast<int>(status));
  std::exit(2);
}
#define CHECK_BLAS(call) check_blas((call), __LINE__)

int main() {
  constexpr int kSide = 1024;
  float* a = device_floats();
  float* b = device_floats();
  float* c = device_floats();
  cudaStream_t streams[2] = {non_blocking_stream(), non_blocking_stream()};
  cublasHandle_t blas;
  CHECK_BLAS(cublasCreate(&blas));
  const float one = 1.0f, zero = 0.0f;
  fill<<<blocks_for(kCount), 256, 0, streams[0]>>>(a, kCount, 1.0f);
  fill<<<blocks_for(kCount), 256, 0, streams[0]>>>(b, kCount, 1.0f / kSide);
  for (int i = 0; i < 200; ++i) {
    cudaStream_t stream = streams[i % 2];
    order(streams[(i + 1) % 2], stream);
    CHECK_BLAS(cublasSetStream(blas, stream));
    CHECK_BLAS(
        cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &one, a, kSide, b, kSide, &zero, c, kSide));
    float* previous = a;
    a = c;
    c = previous;
  }
  CHECK(cudaDeviceSynchronize());
  CHECK_BLAS(cublasDestroy(blas));
  measured_end();
}
