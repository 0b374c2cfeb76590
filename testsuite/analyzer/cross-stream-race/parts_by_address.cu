// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe
// RUN: %check cross-stream-race %s --levels=definite,latent,maybe -- -DFIXED
//
// &p[128] is p + 128, of a pointer, of an array and of a row of a matrix.
#include <cuda_runtime.h>

void upload(double* device, const double* pinned) {
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
#ifdef FIXED
  constexpr int kFirst = 128;
#else
  constexpr int kFirst = 127;
#endif
  cudaMemcpyAsync(&device[0], &pinned[0], 128 * sizeof(double), cudaMemcpyHostToDevice, a);
  cudaMemcpyAsync(&device[kFirst], &pinned[kFirst], 128 * sizeof(double), cudaMemcpyHostToDevice, b);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on stream 'b' may write 'device' while cudaMemcpyAsync (host to device) on stream 'a' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'device' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}

void rows(const float* device) {
  static float table[4][32];
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
#ifdef FIXED
  constexpr size_t kBytes = 2 * sizeof(table[0]);
#else
  constexpr size_t kBytes = 3 * sizeof(table[0]);
#endif
  cudaMemcpyAsync(&table[0][0], device, kBytes, cudaMemcpyDeviceToHost, a);
  cudaMemcpyAsync(&table[2][0], device, sizeof(table[0]), cudaMemcpyDeviceToHost, b);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (device to host) on stream 'b' may write 'rows::table[2][0]' while cudaMemcpyAsync (device to host) on stream 'a' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-3]]:3: note: 'rows::table[2][0]' is written here, on stream 'a'
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'a' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-11]]:3: note: stream 'b' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:3: note: nothing orders stream 'b' after stream 'a': record an event in stream 'a' after the write and let stream 'b' wait for it with cudaStreamWaitEvent before cudaMemcpyAsync (device to host)
  cudaStreamSynchronize(a);
  cudaStreamSynchronize(b);
}
