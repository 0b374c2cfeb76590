// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
// OPTIONS: streamsan.Levels: definite;likely;latent
//
// While one half of a buffer is copied the host works on the other one, in loops that do not begin at 0.
#include <cuda_runtime.h>

inline float fresh(int i) { return i * 0.5f; }

float first_half(float* device, float* staging, int n, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(device, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  for (int i = n; i < 2 * n; ++i) staging[i] = fresh(i);
#else
  for (int i = 0; i < n; ++i) staging[i] = fresh(i);
// CHECK-MESSAGES: :[[@LINE-1]]:31: warning: the host may write 'staging' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:31: note: wait for stream 'stream' with cudaStreamSynchronize before the write
#endif
  cudaStreamSynchronize(stream);
  return total;
}

float second_half(float* device, float* staging, int n, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(device, staging + n, n * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  for (int i = 0; i < n; ++i) staging[i] = fresh(i);
#else
  for (int i = n; i < 2 * n; ++i) staging[i] = fresh(i);
// CHECK-MESSAGES: :[[@LINE-1]]:35: warning: the host may write 'staging' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:35: note: wait for stream 'stream' with cudaStreamSynchronize before the write
#endif
  cudaStreamSynchronize(stream);
  return total;
}

float backwards(float* device, float* staging, int n, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(device, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  for (int i = 2 * n - 1; i >= n; --i) staging[i] = fresh(i);
#else
  for (int i = n - 1; i >= 0; --i) staging[i] = fresh(i);
// CHECK-MESSAGES: :[[@LINE-1]]:36: warning: the host may write 'staging' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:36: note: wait for stream 'stream' with cudaStreamSynchronize before the write
#endif
  cudaStreamSynchronize(stream);
  return total;
}

// By a pointer that walks, and by rows.
float walk(float* device, float* staging, int n, int width, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(device, staging, n * width * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  const int first = n;
#else
  const int first = 0;
#endif
  for (int row = first; row < first + n; ++row) {
    for (int i = 0; i < width; ++i) staging[row * width + i] = fresh(i);
// CHECK-MESSAGES: :[[@LINE-1]]:37: warning: the host may write 'staging' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:37: note: wait for stream 'stream' with cudaStreamSynchronize before the write
  }
  cudaStreamSynchronize(stream);
  return total;
}

// With two ways out of the loop, of which one is an early return.
float search(float* device, float* staging, int n, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(device, staging, n * sizeof(float), cudaMemcpyHostToDevice, stream);
#ifdef FIXED
  for (int i = n; i < 2 * n; ++i) {
#else
  for (int i = 0; i < n; ++i) {
#endif
    staging[i] = fresh(i);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'staging' while cudaMemcpyAsync (host to device) on stream 'stream' still reads it; only undocumented behaviour of today's driver prevents it (R-CPY-13) [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'staging' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:5: note: wait for stream 'stream' with cudaStreamSynchronize before the write
    if (fresh(i) > 10.0f) return -1.0f;
  }
  cudaStreamSynchronize(stream);
  return total;
}
