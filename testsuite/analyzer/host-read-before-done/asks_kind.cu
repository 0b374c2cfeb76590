// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// Who asks whether memory is the device's reads it himself only if it is not.
#include <cuda_runtime.h>

static bool on_device(const void* data) {
  cudaPointerAttributes is;
  return cudaPointerGetAttributes(&is, data) == cudaSuccess && is.type == cudaMemoryTypeDevice;
}

static float fetch(const float* data, cudaStream_t stream) {
  float value = 0;
  cudaMemcpyAsync(&value, data, sizeof(value), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  return value;
}

float first_by_helper(const float* data, cudaStream_t stream) {
  if (on_device(data)) return fetch(data, stream);
  return *data;
}

float first(float* data, cudaStream_t stream) {
  cudaPointerAttributes is;
  cudaPointerGetAttributes(&is, data);
  if (is.type == cudaMemoryTypeDevice) return fetch(data, stream);
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += data[i];
  return sum;
}

float run(float* data, cudaStream_t stream) {
  cudaMemsetAsync(data, 0, 1024, stream);
  return first(data, stream) + first_by_helper(data, stream);
}

float run_on_host(float* data, float* device, cudaStream_t stream) {
  cudaMallocHost(&data, 1024);
  const bool known = on_device(data);
  cudaMemcpyAsync(data, device, 1024, cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  float sum = 0;
  for (int i = 0; i < 256; ++i) sum += data[i];
// CHECK-MESSAGES: :[[@LINE-1]]:40: warning: the host may read 'data' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-7]]:3: note: 'data' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'data' is allocated here
// CHECK-NOTES: :[[@LINE-4]]:40: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  return known ? 0 : sum;
}
