// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Two buffers in turn: what a round of the loop writes, a round before it still reads.
#include <cuda_runtime.h>

#include <utility>
#include <vector>

__global__ void half(const float* in, float* out, int n) {
  const int i = threadIdx.x;
  if (i < n) out[i] = in[i] * 0.5f;
}

struct Lanes {
  cudaStream_t load, work;
  cudaEvent_t loaded, used;
  Lanes() {
    cudaStreamCreateWithFlags(&load, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    cudaEventCreate(&loaded);
    cudaEventCreate(&used);
  }
};

// Swapped pointers, the next piece loaded ahead.
void ahead(const float* host, float* result, int pieces, int n) {
  Lanes lanes;
  float *current, *next;
  cudaMalloc(&current, n * 4);
  cudaMalloc(&next, n * 4);
  cudaMemcpyAsync(current, host, n * 4, cudaMemcpyHostToDevice, lanes.load);
  for (int c = 0; c < pieces; ++c) {
    cudaEventRecord(lanes.loaded, lanes.load);
    cudaStreamWaitEvent(lanes.work, lanes.loaded, 0);
    if (c + 1 < pieces) {
#ifdef FIXED
      cudaStreamWaitEvent(lanes.load, lanes.used, 0);
#endif
      cudaMemcpyAsync(next, host + (c + 1) * n, n * 4, cudaMemcpyHostToDevice, lanes.load);
// CHECK-MESSAGES: :[[@LINE-1]]:7: warning: cudaMemcpyAsync (host to device) on stream 'lanes.load' may write 'next' while kernel 'half' on stream 'lanes.work' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+9]]:5: note: 'next' is read here, on stream 'lanes.work'
// CHECK-NOTES: :[[@LINE+9]]:5: note: event 'lanes.used' is recorded here, after the read, but stream 'lanes.load' does not wait for it
// CHECK-NOTES: :[[@LINE-24]]:5: note: stream 'lanes.work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-17]]:9: note: in the call to 'Lanes::Lanes' here
// CHECK-NOTES: :[[@LINE-27]]:5: note: stream 'lanes.load' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-17]]:3: note: 'next' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:7: note: let stream 'lanes.load' wait for event 'lanes.used' with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
// CHECK-NOTES: :[[@LINE-15]]:5: note: analysed for the case that 'pieces' is 3
    }
    half<<<1, 256, 0, lanes.work>>>(current, result + c * n, n);
    cudaEventRecord(lanes.used, lanes.work);
    std::swap(current, next);
  }
  cudaDeviceSynchronize();
}

// An index that flips, in a loop that counts something else.
void flipped(const float* host, float* result, size_t total, size_t piece) {
  Lanes lanes;
  float* box[2];
  for (auto& b : box) cudaMalloc(&b, piece * 4);
  int turn = 0;
  size_t done = 0;
  while (done < total) {
#ifdef FIXED
    cudaStreamWaitEvent(lanes.load, lanes.used, 0);
#endif
    cudaMemcpyAsync(box[turn], host + done, piece * 4, cudaMemcpyHostToDevice, lanes.load);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: cudaMemcpyAsync (host to device) on stream 'lanes.load' may write 'box[turn]' while kernel 'half' on stream 'lanes.work' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+10]]:5: note: 'box[turn]' is read here, on stream 'lanes.work'
// CHECK-NOTES: :[[@LINE+10]]:5: note: event 'lanes.used' is recorded here, after the read, but stream 'lanes.load' does not wait for it
// CHECK-NOTES: :[[@LINE-53]]:5: note: stream 'lanes.work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:9: note: in the call to 'Lanes::Lanes' here
// CHECK-NOTES: :[[@LINE-56]]:5: note: stream 'lanes.load' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-14]]:23: note: 'box[turn]' is allocated here
// CHECK-NOTES: :[[@LINE-8]]:5: note: let stream 'lanes.load' wait for event 'lanes.used' with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
// CHECK-NOTES: :[[@LINE-9]]:5: note: analysed for the case that the loop has 3 rounds
    cudaEventRecord(lanes.loaded, lanes.load);
    cudaStreamWaitEvent(lanes.work, lanes.loaded, 0);
    half<<<1, 256, 0, lanes.work>>>(box[turn], result + done, static_cast<int>(piece));
    cudaEventRecord(lanes.used, lanes.work);
    turn ^= 1;
    done += piece;
  }
  cudaDeviceSynchronize();
}

// Structs that are swapped, in a range-for; the copy is made by a helper.
struct Side {
  float* data;
  cudaEvent_t free;
};

void fill(Side& side, const float* from, int n, cudaStream_t s) {
  cudaMemcpyAsync(side.data, from, n * 4, cudaMemcpyHostToDevice, s);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: cudaMemcpyAsync (host to device) on stream 'lanes.load' may write 'a.data' while kernel 'half' on stream 'lanes.work' still reads it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE+22]]:5: note: in the call to 'fill' here
// CHECK-NOTES: :[[@LINE+24]]:5: note: 'a.data' is read here, on stream 'lanes.work'
// CHECK-NOTES: :[[@LINE+24]]:5: note: event 'a.free' is recorded here, after the read, but stream 'lanes.load' does not wait for it
// CHECK-NOTES: :[[@LINE-81]]:5: note: stream 'lanes.work' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+8]]:9: note: in the call to 'Lanes::Lanes' here
// CHECK-NOTES: :[[@LINE-84]]:5: note: stream 'lanes.load' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+8]]:3: note: 'a.data' is allocated here
// CHECK-NOTES: :[[@LINE-9]]:3: note: let stream 'lanes.load' wait for event 'a.free' with cudaStreamWaitEvent before cudaMemcpyAsync (host to device)
// CHECK-NOTES: :[[@LINE-10]]:3: note: analysed for the case that 'frames.size()' is 3
}

void movie(const std::vector<const float*>& frames, float* out, int n) {
  Lanes lanes;
  Side a, b;
  cudaMalloc(&a.data, n * 4);
  cudaMalloc(&b.data, n * 4);
  cudaEventCreate(&a.free);
  cudaEventCreate(&b.free);
  for (const float* frame : frames) {
#ifdef FIXED
    cudaStreamWaitEvent(lanes.load, a.free, 0);
#endif
    fill(a, frame, n, lanes.load);
    cudaEventRecord(lanes.loaded, lanes.load);
    cudaStreamWaitEvent(lanes.work, lanes.loaded, 0);
    half<<<1, 256, 0, lanes.work>>>(a.data, out, n);
    cudaEventRecord(a.free, lanes.work);
    std::swap(a, b);
  }
  cudaStreamSynchronize(lanes.work);
}
