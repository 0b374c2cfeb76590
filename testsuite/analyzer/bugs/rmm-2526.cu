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
  rmm::device_scalar<double> factor(1.0, stream);
// CHECK-MESSAGES: :[[@LINE-1]]:30: warning: a temporary dies at the end of the statement while rmm::device_scalar::device_scalar on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-async-copy-lifetime]
// CHECK-NOTES: :[[@LINE-2]]:30: note: a temporary is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:30: note: wait for stream 'stream' with cudaStreamSynchronize before that, or keep the memory alive for longer
#endif
  scale<<<1, 256, 0, stream.value()>>>(factor.data(), x);
  stream.synchronize();
}
