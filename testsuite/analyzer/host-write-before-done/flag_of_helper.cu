// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// The caller tells a helper that does nothing on a stream whether to write.
#include <cuda_runtime.h>

static void prepare(float* values, bool clear) {
  if (clear) values[0] = 0;
// CHECK-MESSAGES: :[[@LINE-1]]:14: warning: the host may write 'staging' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+24]]:3: note: in the call to 'prepare' here
// CHECK-NOTES: :[[@LINE+18]]:3: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+24]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE+14]]:3: note: 'staging' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:14: note: wait for stream 'stream' with cudaStreamSynchronize before the write
}

static void put(float* values, int mode, float value) {
  if (mode == 2) {
    values[1] = value;
    return;
  }
  if (mode != 0) values[0] = value;
}

void upload(float* device, cudaStream_t stream) {
  float* staging = nullptr;
  cudaMallocHost(&staging, 1024 * sizeof(float));
  prepare(staging, true);
  cudaMemcpyAsync(device, staging, 1024 * sizeof(float), cudaMemcpyHostToDevice, stream);
  put(staging, 0, 1);
#ifdef FIXED
  prepare(staging, false);
#else
  prepare(staging, true);
#endif
  cudaStreamSynchronize(stream);
  cudaFreeHost(staging);
}
