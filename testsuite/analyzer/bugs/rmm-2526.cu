// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check async-copy-lifetime %s --levels=definite,latent
// RUN: %check async-copy-lifetime %s --levels=definite,latent -- -DFIXED
//
// rapidsai/rmm#2526, HL: the initial value of a device scalar is a temporary; the constructor copies it asynchronously.
#include <cuda_runtime.h>

#include <rmm/device_scalar.hpp>

__global__ void scale(const double* factor, double* x) { x[threadIdx.x] *= *factor; }

void run(double* x, rmm::cuda_stream_view stream) {
#ifdef FIXED
  const double one = 1.0;
  rmm::device_scalar<double> factor(one, stream);
#else
  rmm::device_scalar<double> factor(1.0, stream);  // FIRES: async-copy-lifetime
#endif
  scale<<<1, 256, 0, stream.value()>>>(factor.data(), x);
  stream.synchronize();
}
