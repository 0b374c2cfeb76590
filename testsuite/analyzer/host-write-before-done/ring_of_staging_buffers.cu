// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
//
// A ring with an event per slot; the host waits for the slot's event before it writes: silent.
#include <cuda_runtime.h>

#include <cstring>

constexpr int kSlots = 3;

void feed(float* device, const float* source, int chunks, size_t n) {
  cudaStream_t stream;
  float* slot[kSlots];
  cudaEvent_t read_by_device[kSlots];
  cudaStreamCreate(&stream);
  for (int i = 0; i < kSlots; ++i) {
    cudaMallocHost(&slot[i], n * sizeof(float));
    cudaEventCreateWithFlags(&read_by_device[i], cudaEventDisableTiming);
  }
  for (int c = 0; c < chunks; ++c) {
    const int i = c % kSlots;
    cudaEventSynchronize(read_by_device[i]);
    std::memcpy(slot[i], source + c * n, n * sizeof(float));
    cudaMemcpyAsync(device + c * n, slot[i], n * sizeof(float), cudaMemcpyHostToDevice, stream);
    cudaEventRecord(read_by_device[i], stream);
  }
  cudaStreamSynchronize(stream);
  for (int i = 0; i < kSlots; ++i) cudaFreeHost(slot[i]);
}
