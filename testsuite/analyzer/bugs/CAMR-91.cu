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
  set_val<<<1, 256, 0, stream>>>(as_fine);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'set_val' on stream 'gpu.streams[i]' may write 'as_fine' while kernel 'fine_add' on stream 'gpu.streams[i]', in an earlier iteration, still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+5]]:3: note: 'as_fine' is read here, on stream 'gpu.streams[i]'
// CHECK-NOTES: :[[@LINE-9]]:40: note: stream 'gpu.streams[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+10]]:7: note: in the call to 'Gpu::Gpu' here
// CHECK-NOTES: :[[@LINE-5]]:3: note: kernel 'fine_add' may be that of an earlier iteration: record an event in stream 'gpu.streams[i]' of that iteration after the read and let stream 'gpu.streams[i]' of the next one wait for it with cudaStreamWaitEvent before kernel 'set_val'
// CHECK-NOTES: :[[@LINE+9]]:38: note: in the call to 'advance_box' here
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
