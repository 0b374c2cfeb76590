// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check premature-free %s --levels=definite,latent
// RUN: %check premature-free %s --levels=definite,latent -- -DFIXED
//
// kokkos/kokkos#9307, FE: a view is freed while its kernel may run: only cudaFree's undocumented wait saves it.
#include <cuda_runtime.h>

class View {
 public:
  explicit View(size_t bytes) { cudaMalloc(&data_, bytes); }
  ~View() { cudaFree(data_); }
// CHECK-MESSAGES: :[[@LINE-1]]:13: warning: 'x.data_' is freed by cudaFree while kernel 'axpy' on stream 'execution_space' still reads it; only undocumented behaviour of today's driver prevents it (R-ALC-02) [streamsan-premature-free]
// CHECK-NOTES: :[[@LINE+20]]:1: note: 'x' goes out of scope here
// CHECK-NOTES: :[[@LINE+15]]:3: note: 'x.data_' is read here, on stream 'execution_space'
// CHECK-NOTES: :[[@LINE-5]]:33: note: 'x.data_' is allocated here
// CHECK-NOTES: :[[@LINE+12]]:8: note: in the call to 'View::View' here
// CHECK-NOTES: :[[@LINE-6]]:13: note: wait for stream 'execution_space' with cudaStreamSynchronize before it is freed
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
