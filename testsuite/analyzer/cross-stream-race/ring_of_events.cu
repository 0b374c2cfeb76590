// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
//
// A ring of device buffers, one event per slot and direction, as real pipelines have it: correct, silent.
#include <cuda_runtime.h>

constexpr int kSlots = 3;

__global__ void decode(const unsigned char* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }

void play(unsigned char* (&slots)[kSlots], const unsigned char* pinned, float* out, int frames, size_t bytes) {
  cudaStream_t up, work;
  cudaEvent_t filled[kSlots], emptied[kSlots];
  cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
  for (int i = 0; i < kSlots; ++i) {
    cudaEventCreateWithFlags(&filled[i], cudaEventDisableTiming);
    cudaEventCreateWithFlags(&emptied[i], cudaEventDisableTiming);
  }
  for (int f = 0; f < frames; ++f) {
    const int slot = f % kSlots;
    if (f >= kSlots) cudaStreamWaitEvent(up, emptied[slot], 0);
    cudaMemcpyAsync(slots[slot], pinned + f * bytes, bytes, cudaMemcpyHostToDevice, up);
    cudaEventRecord(filled[slot], up);
    cudaStreamWaitEvent(work, filled[slot], 0);
    decode<<<1, 256, 0, work>>>(slots[slot], out);
    cudaEventRecord(emptied[slot], work);
  }
  cudaStreamSynchronize(work);
}
