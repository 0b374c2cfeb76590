// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Scratch memory that is kept by its size: two calls on two streams with one size get one block. Found with find(), it
// is the one that was put there.
#include <cuda_runtime.h>

#include <map>
#include <unordered_map>

__global__ void knead(float* dough) { dough[threadIdx.x] += 1.0f; }
__global__ void bake(float* dough) { dough[threadIdx.x] *= 2.0f; }

class Bowls {
 public:
  float* take(int size) {
    float*& bowl = bowls_[size];
    if (bowl == nullptr) cudaMalloc(&bowl, size * sizeof(float));
    return bowl;
  }

 private:
  std::map<int, float*> bowls_;
};

void two_loaves(Bowls& bowls, int size) {
  cudaStream_t left, right;
  cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking);
  knead<<<1, 256, 0, left>>>(bowls.take(size));
#ifdef FIXED
  bake<<<1, 256, 0, right>>>(bowls.take(size + 1));
#else
  bake<<<1, 256, 0, right>>>(bowls.take(size));
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'bake' on stream 'right' may update 'bowls.bowls_[size].second' while kernel 'knead' on stream 'left' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'bowls.bowls_[size].second' is updated here, on stream 'left'
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'left' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-9]]:3: note: stream 'right' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-21]]:26: note: 'bowls.bowls_[size].second' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'right' after stream 'left': record an event in stream 'left' after the update and let stream 'right' wait for it with cudaStreamWaitEvent before kernel 'bake'
#endif
}

void by_name(std::unordered_map<int, float*>& named, int mine, int other) {
  cudaStream_t left, right;
  cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking);
  knead<<<1, 256, 0, left>>>(named[mine]);
#ifdef FIXED
  auto found = named.find(other);
#else
  auto found = named.find(mine);
#endif
  if (found == named.end()) return;
  bake<<<1, 256, 0, right>>>(found->second);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'bake' on stream 'right' may update 'named[found].second' while kernel 'knead' on stream 'left' still updates it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-9]]:3: note: 'named[found].second' is updated here, on stream 'left'
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'left' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:3: note: stream 'right' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-42]]:26: note: 'named[found].second' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: nothing orders stream 'right' after stream 'left': record an event in stream 'left' after the update and let stream 'right' wait for it with cudaStreamWaitEvent before kernel 'bake'
}
