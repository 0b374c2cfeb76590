// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
// OPTIONS: streamsan.Levels: definite;likely;latent
//
// While one half of a buffer is copied the host works on the other one, in loops that do not begin at 0.
#include <cuda_runtime.h>

inline float fresh(int i) { return i * 0.5f; }

float first_half(float* device, float* staging, int n, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(staging, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  for (int i = n; i < 2 * n; ++i) total += staging[i];
#else
  for (int i = 0; i < n; ++i) total += staging[i];
// CHECK-MESSAGES: :[[@LINE-1]]:40: warning: the host may read 'staging' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'staging' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:40: note: wait for stream 'stream' with cudaStreamSynchronize before the read
#endif
  cudaStreamSynchronize(stream);
  return total;
}

float second_half(float* device, float* staging, int n, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(staging + n, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  for (int i = 0; i < n; ++i) total += staging[i];
#else
  for (int i = n; i < 2 * n; ++i) total += staging[i];
// CHECK-MESSAGES: :[[@LINE-1]]:44: warning: the host may read 'staging' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'staging' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:44: note: wait for stream 'stream' with cudaStreamSynchronize before the read
#endif
  cudaStreamSynchronize(stream);
  return total;
}

float backwards(float* device, float* staging, int n, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(staging, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  for (int i = 2 * n - 1; i >= n; --i) total += staging[i];
#else
  for (int i = n - 1; i >= 0; --i) total += staging[i];
// CHECK-MESSAGES: :[[@LINE-1]]:45: warning: the host may read 'staging' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'staging' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:45: note: wait for stream 'stream' with cudaStreamSynchronize before the read
#endif
  cudaStreamSynchronize(stream);
  return total;
}

// By a pointer that walks, and by rows.
float walk(float* device, float* staging, int n, int width, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(staging, device, n * width * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  const int first = n;
#else
  const int first = 0;
#endif
  for (int row = first; row < first + n; ++row) {
    for (int i = 0; i < width; ++i) total += staging[row * width + i];
// CHECK-MESSAGES: :[[@LINE-1]]:46: warning: the host may read 'staging' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'staging' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+3]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-4]]:46: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  }
  cudaStreamSynchronize(stream);
  return total;
}

// With two ways out of the loop, of which one is an early return.
float search(float* device, float* staging, int n, cudaStream_t stream) {
  float total = 0;
  cudaMemcpyAsync(staging, device, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  for (int i = n; i < 2 * n; ++i) {
#else
  for (int i = 0; i < n; ++i) {
#endif
    total += staging[i];
// CHECK-MESSAGES: :[[@LINE-1]]:14: warning: the host may read 'staging' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it; only undocumented behaviour of today's driver prevents it (R-CPY-14) [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-8]]:3: note: 'staging' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-3]]:14: note: wait for stream 'stream' with cudaStreamSynchronize before the read
    if (fresh(i) > 10.0f) return -1.0f;
  }
  cudaStreamSynchronize(stream);
  return total;
}
