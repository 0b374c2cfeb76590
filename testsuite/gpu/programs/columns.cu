// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two 2D copies on two streams into one image. Left and right half interleave in memory row by row and share no byte
// (silent); one column too wide and every row overlaps (an error).
#include "stage.h"

int main() {
  constexpr int kRows = 512;
  constexpr size_t kPitch = 4096;
#ifdef FIXED
  constexpr size_t kLeftWidth = kPitch / 2;
#else
  constexpr size_t kLeftWidth = kPitch / 2 + sizeof(float);
#endif
  float* image = device_floats(kRows * kPitch / sizeof(float));
  float* host = pinned_floats(kRows * kPitch / sizeof(float));
  char* right_half = reinterpret_cast<char*>(image) + kPitch / 2;
  cudaStream_t left = non_blocking_stream();
  cudaStream_t right = non_blocking_stream();
  const cudaMemcpyKind up = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy2DAsync(image, kPitch, host, kPitch, kLeftWidth, kRows, up, left));        // site: left
  CHECK(cudaMemcpy2DAsync(right_half, kPitch, host, kPitch, kPitch / 2, kRows, up, right));  // site: right
  CHECK(cudaDeviceSynchronize());
  return 0;
}
