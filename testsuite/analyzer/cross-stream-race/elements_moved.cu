// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s -- -std=c++20
// RUN: %check cross-stream-race %s -- -DFIXED -std=c++20
//
// Two buffers in a container change places by an algorithm: what another stream takes is the other one. FIXED takes
// that one, too, where the race is; all else is silent in both.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

__global__ void pour(float* tank) { tank[threadIdx.x] = 1.0f; }
__global__ void drain(const float* tank, float* river) { river[threadIdx.x] += tank[threadIdx.x]; }

#ifdef FIXED
constexpr int kFull = 0;
#else
constexpr int kFull = 1;
#endif

bool in_order(const float* a, const float* b);

class Plant {
 public:
  Plant() {
    cudaStreamCreateWithFlags(&inflow_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&outflow_, cudaStreamNonBlocking);
  }

  // Where it is known which element is where.
  void exchanged(float* east, float* west, float* river) {
    float* tanks[2] = {east, west};
    pour<<<1, 64, 0, inflow_>>>(tanks[0]);
    std::reverse(tanks, tanks + 2);
    drain<<<1, 64, 0, outflow_>>>(tanks[kFull], river);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'drain' on stream 'this->outflow_' may read 'tanks[1]' while kernel 'pour' on stream 'this->inflow_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:5: note: 'tanks[1]' is written here, on stream 'this->inflow_'
// CHECK-NOTES: :[[@LINE-12]]:5: note: stream 'this->inflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-12]]:5: note: stream 'this->outflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'this->outflow_' after stream 'this->inflow_': record an event in stream 'this->inflow_' after the write and let stream 'this->outflow_' wait for it with cudaStreamWaitEvent before kernel 'drain'
    settle();
    std::array<float*, 2> turned = {east, west};
    pour<<<1, 64, 0, inflow_>>>(turned[0]);
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    drain<<<1, 64, 0, outflow_>>>(turned[kFull], river);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'drain' on stream 'this->outflow_' may read 'turned[1]' while kernel 'pour' on stream 'this->inflow_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:5: note: 'turned[1]' is written here, on stream 'this->inflow_'
// CHECK-NOTES: :[[@LINE-22]]:5: note: stream 'this->inflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-22]]:5: note: stream 'this->outflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'this->outflow_' after stream 'this->inflow_': record an event in stream 'this->inflow_' after the write and let stream 'this->outflow_' wait for it with cudaStreamWaitEvent before kernel 'drain'
    settle();
    std::vector<float*> listed({east, west});
    pour<<<1, 64, 0, inflow_>>>(listed[0]);
    std::iter_swap(listed.begin(), listed.begin() + 1);
    drain<<<1, 64, 0, outflow_>>>(listed[kFull], river);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'drain' on stream 'this->outflow_' may read 'listed[1]' while kernel 'pour' on stream 'this->inflow_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:5: note: 'listed[1]' is written here, on stream 'this->inflow_'
// CHECK-NOTES: :[[@LINE-32]]:5: note: stream 'this->inflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-32]]:5: note: stream 'this->outflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'this->outflow_' after stream 'this->inflow_': record an event in stream 'this->inflow_' after the write and let stream 'this->outflow_' wait for it with cudaStreamWaitEvent before kernel 'drain'
    settle();
    float* others[2] = {west, west};
    float* these[2] = {east, west};
    pour<<<1, 64, 0, inflow_>>>(these[0]);
    std::swap_ranges(std::begin(these), std::end(these), others);
    drain<<<1, 64, 0, outflow_>>>(others[1 - kFull], river);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'drain' on stream 'this->outflow_' may read 'others[0]' while kernel 'pour' on stream 'this->inflow_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:5: note: 'others[0]' is written here, on stream 'this->inflow_'
// CHECK-NOTES: :[[@LINE-43]]:5: note: stream 'this->inflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-43]]:5: note: stream 'this->outflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'this->outflow_' after stream 'this->inflow_': record an event in stream 'this->inflow_' after the write and let stream 'this->outflow_' wait for it with cudaStreamWaitEvent before kernel 'drain'
    settle();
    std::vector<float*> mine({east, west}), spare({west, west});
    pour<<<1, 64, 0, inflow_>>>(mine[0]);
    spare = std::exchange(mine, spare);
    drain<<<1, 64, 0, outflow_>>>(spare[1 - kFull], river);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'drain' on stream 'this->outflow_' may read 'spare[0]' while kernel 'pour' on stream 'this->inflow_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-4]]:5: note: 'spare[0]' is written here, on stream 'this->inflow_'
// CHECK-NOTES: :[[@LINE-53]]:5: note: stream 'this->inflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-53]]:5: note: stream 'this->outflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'this->outflow_' after stream 'this->inflow_': record an event in stream 'this->inflow_' after the write and let stream 'this->outflow_' wait for it with cudaStreamWaitEvent before kernel 'drain'
    settle();
    drain<<<1, 64, 0, outflow_>>>(mine[0], river);
  }

  // Only read: they are where they were.
  void looked_at(float* east, float* west, float* river) {
    std::vector<float*> tanks({east, west}), copied(2);
    pour<<<1, 64, 0, inflow_>>>(tanks[0]);
    (void)std::count(tanks.begin(), tanks.end(), east);
    std::for_each(tanks.begin(), tanks.end(), [](float* tank) { (void)tank; });
    std::copy(tanks.begin(), tanks.end(), copied.begin());
    drain<<<1, 64, 0, outflow_>>>(tanks[1 - kFull], river);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'drain' on stream 'this->outflow_' may read 'tanks[0]' while kernel 'pour' on stream 'this->inflow_' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-6]]:5: note: 'tanks[0]' is written here, on stream 'this->inflow_'
// CHECK-NOTES: :[[@LINE-70]]:5: note: stream 'this->inflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-70]]:5: note: stream 'this->outflow_' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-5]]:5: note: nothing orders stream 'this->outflow_' after stream 'this->inflow_': record an event in stream 'this->inflow_' after the write and let stream 'this->outflow_' wait for it with cudaStreamWaitEvent before kernel 'drain'
    settle();
  }

  // Where nobody knows.
  void forgotten(float* east, float* west, float* river) {
    std::vector<float*> tanks({east, west}), others({west, west});
    pour<<<1, 64, 0, inflow_>>>(tanks[0]);
    std::sort(tanks.begin(), tanks.end(), in_order);
    drain<<<1, 64, 0, outflow_>>>(tanks[0], river);
    settle();
    tanks = {east, west};
    pour<<<1, 64, 0, inflow_>>>(tanks[0]);
    std::copy(others.begin(), others.end(), tanks.begin());
    drain<<<1, 64, 0, outflow_>>>(tanks[0], river);
    settle();
    tanks = {east, west};
    pour<<<1, 64, 0, inflow_>>>(tanks[0]);
    std::fill(tanks.begin(), tanks.end(), west);
    drain<<<1, 64, 0, outflow_>>>(tanks[0], river);
    settle();
    tanks = {east, west};
    pour<<<1, 64, 0, inflow_>>>(tanks[0]);
    std::move(others.begin(), others.end(), tanks.begin());
    drain<<<1, 64, 0, outflow_>>>(tanks[0], river);
    settle();
    tanks = {east, west};
    pour<<<1, 64, 0, inflow_>>>(tanks[0]);
    std::for_each(tanks.begin(), tanks.end(), [west](float*& tank) { tank = west; });
    drain<<<1, 64, 0, outflow_>>>(tanks[0], river);
    settle();
    tanks = {east, west};
    pour<<<1, 64, 0, inflow_>>>(tanks[0]);
    std::ranges::reverse(tanks);
    drain<<<1, 64, 0, outflow_>>>(tanks[0], river);
    settle();
    float* raw[2] = {east, west};
    float* source[2] = {west, east};
    pour<<<1, 64, 0, inflow_>>>(raw[0]);
    std::memcpy(raw, source, sizeof raw);
    drain<<<1, 64, 0, outflow_>>>(raw[0], river);
    settle();
  }

 private:
  void settle() {
    cudaStreamSynchronize(inflow_);
    cudaStreamSynchronize(outflow_);
  }

  cudaStream_t inflow_, outflow_;
};

void run(float* river) {
  Plant plant;
  float *east, *west;
  cudaMalloc(&east, 4096);
  cudaMalloc(&west, 4096);
  plant.exchanged(east, west, river);
  plant.looked_at(east, west, river);
  plant.forgotten(east, west, river);
}
