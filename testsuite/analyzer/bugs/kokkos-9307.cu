// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --levels=definite,latent
// RUN: %check premature-free %s --levels=definite,latent -- -DFIXED
//
// kokkos/kokkos#9307, FE: a view is freed while its kernel may run: only cudaFree's undocumented wait saves it.
#include <cuda_runtime.h>

class View {
 public:
  explicit View(size_t bytes) { cudaMalloc(&data_, bytes); }
  ~View() { cudaFree(data_); }  // FIRES: premature-free
  View(const View&) = delete;
  double* data() const { return data_; }

 private:
  double* data_ = nullptr;
};

__global__ void axpy(double* x, double* y) { y[threadIdx.x] += x[threadIdx.x]; }

void run(double* y, cudaStream_t execution_space) {
  View x(256 * sizeof(double));
  axpy<<<1, 256, 0, execution_space>>>(x.data(), y);
#ifdef FIXED
  cudaStreamSynchronize(execution_space);
#endif
}
