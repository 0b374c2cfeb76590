// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// A flag tells the paths apart only where nobody can write it under another name.
#include <cuda_runtime.h>

#include <cstddef>

static float* fetch(const float* from, cudaStream_t stream) {
  float* to = nullptr;
  cudaMallocHost(&to, 128);
  cudaMemcpyAsync(to, from, 128, cudaMemcpyDeviceToHost, stream);
  return to;
}

float plain(const float* from, cudaStream_t stream) {
  bool pending = false;
  const float* to = fetch(from, stream);
#ifdef FIXED
  pending = true;
#endif
  if (pending) cudaStreamSynchronize(stream);
  return to[0];  // FIRES: host-read-before-done
}

float by_pointer(const float* from, cudaStream_t stream) {
  int pending = 0;
  int* flag = &pending;
  const float* to = fetch(from, stream);
  *flag = 1;
  if (pending) cudaStreamSynchronize(stream);
  return to[0];
}

float by_lambda(const float* from, cudaStream_t stream) {
  bool pending = false;
  const float* to = nullptr;
  const auto start = [&] {
    to = fetch(from, stream);
    pending = true;
  };
  start();
  if (pending) cudaStreamSynchronize(stream);
  return to[0];
}

static void mark(int* flag) { *flag = 1; }

float by_helper(const float* from, cudaStream_t stream) {
  int pending = 0;
  const float* to = fetch(from, stream);
  mark(&pending);
  if (pending) cudaStreamSynchronize(stream);
  return to[0];
}

// Nor where the arithmetic depends on the type.
float wraps(const float* from, cudaStream_t stream) {
  unsigned count = 0;
  --count;
  const float* to = fetch(from, stream);
  if (count > 0) cudaStreamSynchronize(stream);
  return to[0];
}

float all_bits(const float* from, cudaStream_t stream) {
  unsigned mask = 0;
  const float* to = fetch(from, stream);
  if (~mask > 3) cudaStreamSynchronize(stream);
  return to[0];
}

float narrow(const float* from, cudaStream_t stream) {
  unsigned char count = 255;
  ++count;
  const float* to = fetch(from, stream);
  if (count == 0) cudaStreamSynchronize(stream);
  return to[0];
}
