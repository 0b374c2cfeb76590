// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
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
  for (int i = 0; i < n; ++i) total += staging[i];  // FIRES: host-read-before-done
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
  for (int i = n; i < 2 * n; ++i) total += staging[i];  // FIRES: host-read-before-done
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
  for (int i = n - 1; i >= 0; --i) total += staging[i];  // FIRES: host-read-before-done
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
    for (int i = 0; i < width; ++i) total += staging[row * width + i];  // FIRES: host-read-before-done
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
    total += staging[i];  // FIRES: host-read-before-done
    if (fresh(i) > 10.0f) return -1.0f;
  }
  cudaStreamSynchronize(stream);
  return total;
}
