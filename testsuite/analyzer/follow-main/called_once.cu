// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// Several threads need what is made once: who comes second waits until it is there, unless he only asks whether somebody
// else has begun.
#include <cuda_runtime.h>
#include <pthread.h>

#include <atomic>
#include <initializer_list>
#include <mutex>
#include <thread>

__global__ void survey(float* map) { map[threadIdx.x] = 1.0f; }
__global__ void walk(float* path, const float* map) { path[threadIdx.x] += map[threadIdx.x]; }

static float* map_of_hills;
static void draw(float* map) {
  cudaStream_t pens;
  cudaStreamCreateWithFlags(&pens, cudaStreamNonBlocking);
  survey<<<1, 32, 0, pens>>>(map);
  cudaStreamSynchronize(pens);
}

static std::once_flag drawn;
static std::atomic<bool> begun{false};
static void hike(float* path) {
#ifdef FIXED
  std::call_once(drawn, draw, map_of_hills);
#else
  if (!begun.exchange(true)) draw(map_of_hills);
#endif
  cudaStream_t feet;
  cudaStreamCreateWithFlags(&feet, cudaStreamNonBlocking);
  walk<<<1, 32, 0, feet>>>(path, map_of_hills);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: kernel 'walk' on stream 'feet' may read 'map_of_hills' while kernel 'survey' on stream 'pens' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-16]]:3: note: 'map_of_hills' is written here, on stream 'pens'
// CHECK-NOTES: :[[@LINE-7]]:30: note: in the call to 'draw' here
// CHECK-NOTES: :[[@LINE-19]]:3: note: stream 'pens' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-6]]:3: note: stream 'feet' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE+37]]:3: note: 'map_of_hills' is allocated here
// CHECK-NOTES: :[[@LINE-7]]:3: note: nothing orders stream 'feet' after stream 'pens': record an event in stream 'pens' after the write and let stream 'feet' wait for it with cudaStreamWaitEvent before kernel 'walk'
// CHECK-NOTES: :[[@LINE-8]]:3: note: main() was followed to here, with zeros for what the GPU computes
  cudaStreamSynchronize(feet);
}

// The plain one.
static float* map_of_lakes;
static pthread_once_t lakes_drawn = PTHREAD_ONCE_INIT;
static void draw_lakes() { draw(map_of_lakes); }
static void swim(float* path) {
  pthread_once(&lakes_drawn, draw_lakes);
  cudaStream_t arms;
  cudaStreamCreateWithFlags(&arms, cudaStreamNonBlocking);
  walk<<<1, 32, 0, arms>>>(path, map_of_lakes);
  cudaStreamSynchronize(arms);
}

// A variable of a function.
static float* map_of_caves() {
  static float* const map = [] {
    float* made;
    cudaMalloc(&made, 128);
    draw(made);
    return made;
  }();
  return map;
}
static void crawl(float* path) {
  cudaStream_t knees;
  cudaStreamCreateWithFlags(&knees, cudaStreamNonBlocking);
  walk<<<1, 32, 0, knees>>>(path, map_of_caves());
  cudaStreamSynchronize(knees);
}

int main() {
  float *one, *other;
  cudaMalloc(&map_of_hills, 128);
  cudaMalloc(&map_of_lakes, 128);
  cudaMalloc(&one, 128);
  cudaMalloc(&other, 128);
  for (auto* way : {hike, swim, crawl}) {
    std::thread first(way, one), second(way, other);
    first.join();
    second.join();
  }
  return 0;
}
