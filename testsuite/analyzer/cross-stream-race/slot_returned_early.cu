// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// A workspace that is given back where it is there, and made by way of a local variable where it is not: all who ask
// have the same.
#include <cuda_runtime.h>

__global__ void chalk(float* board) { board[threadIdx.x] = 1.0f; }
__global__ void wipe(float* board) { board[threadIdx.x] = 0.0f; }

struct School {
  float* board_ = nullptr;

  float* board() {
    if (board_ != nullptr) return board_;
    void* made = nullptr;
    cudaMalloc(&made, 4096);
    board_ = static_cast<float*>(made);
    return board_;
  }

  float* another() {
    float* made = nullptr;
    cudaMalloc(&made, 4096);
    return made;
  }
};

void lesson(School& school) {
  cudaStream_t maths, music;
  cudaStreamCreateWithFlags(&maths, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&music, cudaStreamNonBlocking);
  chalk<<<1, 256, 0, maths>>>(school.board());
#ifdef FIXED
  wipe<<<1, 256, 0, music>>>(school.another());
#else
  wipe<<<1, 256, 0, music>>>(school.board());
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'wipe' on stream 'music' may write 'school.board_' while kernel 'chalk' on stream 'maths' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'school.board_' is written here, on stream 'maths'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'maths' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'music' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-25]]:5: note: 'school.board_' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'music' after stream 'maths': record an event in stream 'maths' after the write and let stream 'music' wait for it with cudaStreamWaitEvent before kernel 'wipe'
#endif
}
