// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// AMReX-Fluids/CAMR#91, XW: each box has its own stream, all share one flag buffer that the next box sets again.
#include <cuda_runtime.h>

constexpr int kStreams = 4;

__global__ void set_val(int* flags) { flags[threadIdx.x] = 0; }
__global__ void fine_add(const int* flags, double* box) { box[threadIdx.x] += flags[threadIdx.x]; }

struct Gpu {
  Gpu() {
    for (int i = 0; i < kStreams; ++i) cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking);
  }
  cudaStream_t streams[kStreams];
};

static void advance_box(int* as_fine, double* box, cudaStream_t stream) {
  set_val<<<1, 256, 0, stream>>>(as_fine);  // FIRES: cross-stream-race
  fine_add<<<1, 256, 0, stream>>>(as_fine, box);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
}

void advance(int* as_fine, double* const* boxes) {
  Gpu gpu;
  for (int i = 0; i < kStreams; ++i) advance_box(as_fine, boxes[i], gpu.streams[i]);
  cudaDeviceSynchronize();
}
