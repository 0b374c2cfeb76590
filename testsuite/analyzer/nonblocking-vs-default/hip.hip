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
  consume<<<1, 256, 0, side>>>(data, out);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'consume' on non-blocking stream 'side' may read 'data' while kernel 'produce' on the default stream still writes it [streamsan-nonblocking-vs-default]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'data' is written here, on the default stream
// CHECK-NOTES: :[[@LINE-8]]:9: note: stream 'side' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:3: note: stream 'side' is non-blocking: it does not wait for the default stream; record an event in the default stream after the write and let stream 'side' wait for it with hipStreamWaitEvent before kernel 'consume'
  (void)hipStreamSynchronize(side);
}
