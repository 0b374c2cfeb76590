// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check omitted-stream %s
// RUN: %check omitted-stream %s -- -DFIXED
//
// CUB is asked for a size with a variable that is null: that call does nothing and needs no stream. The next one does.
#include <cub/cub.cuh>
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = threadIdx.x; }

void sort(float* in, float* out, void* kept, size_t most, cudaStream_t stream) {
  void* memory = nullptr;
  size_t bytes = 0;
  fill<<<1, 256, 0, stream>>>(in);
  cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256);
  if (bytes > most) {
    cudaMalloc(&memory, bytes);
  } else {
    memory = kept;
  }
#ifdef FIXED
  cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256, 0, 32, stream);
#else
  cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256);  // FIRES: omitted-stream
#endif
}

// Null on one way only.
void perhaps(float* in, float* out, void* kept, bool ask, cudaStream_t stream) {
  void* memory = nullptr;
  size_t bytes = 0;
  if (!ask) memory = kept;
  fill<<<1, 256, 0, stream>>>(in);
#ifdef FIXED
  cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256, 0, 32, stream);
#else
  cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256);  // FIRES: omitted-stream
#endif
}

// Asked twice, the first round of a loop.
void sort_in_rounds(float* in, float* out, cudaStream_t stream) {
  for (int round = 0; round < 2; ++round) {
    void* memory = nullptr;
    size_t bytes = 0;
    fill<<<1, 256, 0, stream>>>(in);
    cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256);
    cudaMalloc(&memory, bytes);
    cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256, 0, 32, stream);
    cudaFree(memory);
  }
}

// Whose caller gives the memory, or asks for its size with none.
void sort_in_given(void* memory, size_t& bytes, float* in, float* out, cudaStream_t stream) {
  fill<<<1, 256, 0, stream>>>(in);
  if (!memory)
    cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256);
  else
    cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256, 0, 32, stream);
}

// Here the call that works leaves the stream out.
void sort_in_given_elsewhere(void* memory, size_t& bytes, float* in, float* out, cudaStream_t stream) {
  fill<<<1, 256, 0, stream>>>(in);
  if (!memory)
    cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256, 0, 32, stream);
  else
#ifdef FIXED
    cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256, 0, 32, stream);
#else
    cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, 256);  // FIRES: omitted-stream
#endif
}
