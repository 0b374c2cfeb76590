// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the small behaviour programs are set up with, so that each of them shows its one behaviour and nothing else.
// Nothing here is released: the process ends a moment later, and a release would add frees and waits to the trace.
#pragma once

#include "check.h"

constexpr int kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(float);

inline cudaStream_t blocking_stream() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  return stream;
}

inline cudaStream_t non_blocking_stream() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

inline cudaEvent_t new_event() {
  cudaEvent_t event;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

inline float* device_floats(int count = kCount) {
  float* pointer;
  CHECK(cudaMalloc(&pointer, count * sizeof(float)));
  return pointer;
}

inline float* pinned_floats(int count = kCount, float value = 0.0f) {
  float* pointer;
  CHECK(cudaMallocHost(&pointer, count * sizeof(float)));
  for (int i = 0; i < count; ++i) pointer[i] = value;
  return pointer;
}

template <class T>
T* device_memory(size_t count) {
  T* pointer;
  CHECK(cudaMalloc(&pointer, count * sizeof(T)));
  return pointer;
}

template <class T>
T* zeros(size_t count) {
  T* pointer = device_memory<T>(count);
  CHECK(cudaMemset(pointer, 0, count * sizeof(T)));
  return pointer;
}

template <class T>
T* pinned_memory(size_t count) {
  T* pointer;
  CHECK(cudaMallocHost(&pointer, count * sizeof(T)));
  return pointer;
}

/// Everything later in `after` waits for everything so far in `before`.
inline void order(cudaStream_t before, cudaStream_t after) {
  cudaEvent_t event = new_event();
  CHECK(cudaEventRecord(event, before));
  CHECK(cudaStreamWaitEvent(after, event, 0));
  CHECK(cudaEventDestroy(event));
}
