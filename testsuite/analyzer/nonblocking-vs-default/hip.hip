// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check nonblocking-vs-default %s
// RUN: %check nonblocking-vs-default %s -- -DFIXED
//
// HIP's legacy default stream behaves the same.
#include <hip/hip_runtime.h>

__global__ void produce(float* out) { out[threadIdx.x] = 1.0f; }
__global__ void consume(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void run(float* data, float* out) {
  hipStream_t side;
  (void)hipStreamCreateWithFlags(&side, hipStreamNonBlocking);
  produce<<<1, 256>>>(data);
#ifdef FIXED
  (void)hipDeviceSynchronize();
#endif
  consume<<<1, 256, 0, side>>>(data, out);  // FIRES: nonblocking-vs-default
  (void)hipStreamSynchronize(side);
}
