// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// The third function of each kind looks like the two before it, which are correct, and differs in one thing: a class whose
// objects wait at their end, a template's type, a value that a default argument has, what the kernel writes.
#include <cuda_runtime.h>

__global__ void fill(float* out, int n) { out[threadIdx.x % n] = 1; }
__global__ void move_first(float* to, float* from, int n) { to[threadIdx.x % n] = from[threadIdx.x % n]; }
__global__ void move_second(float* from, float* to, int n) { to[threadIdx.x % n] = from[threadIdx.x % n]; }

struct Waits {
  cudaStream_t stream;
  ~Waits() { cudaStreamSynchronize(stream); }
};
struct Notes {
  cudaStream_t stream;
#ifdef FIXED
  ~Notes() { cudaStreamSynchronize(stream); }
#else
  ~Notes() { stream = nullptr; }
#endif
};

#define AT_ITS_END(NAME, CLASS)                                           \
  void NAME(float* data, int n) {                                         \
    cudaStream_t lanes[2];                                                \
    for (auto& lane : lanes) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking); \
    for (int i = 0; i < 2; ++i) {                                         \
      CLASS end{lanes[i]};                                                \
      fill<<<1, 64, 0, lanes[i]>>>(data, n);                              \
    }                                                                     \
    cudaDeviceSynchronize();                                              \
  }
AT_ITS_END(end_a, Waits)
AT_ITS_END(end_b, Waits)
AT_ITS_END(end_c, Notes)
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: kernel 'fill' on stream 'lanes[i]' may write 'data' while kernel 'fill' on stream 'lanes[i]', in an earlier iteration, still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:1: note: 'data' is written here, on stream 'lanes[i]'
// CHECK-NOTES: :[[@LINE-3]]:1: note: stream 'lanes[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:1: note: kernel 'fill' may be that of an earlier iteration: record an event in stream 'lanes[i]' of that iteration after the write and let stream 'lanes[i]' of the next one wait for it with cudaStreamWaitEvent before kernel 'fill'

struct Yes {
  static constexpr bool kWaits = true;
};
struct No {
#ifdef FIXED
  static constexpr bool kWaits = true;
#else
  static constexpr bool kWaits = false;
#endif
};
template <typename Mode>
void after(cudaStream_t stream) {
  if constexpr (Mode::kWaits) cudaStreamSynchronize(stream);
}
#define AFTER(NAME, MODE)                                                 \
  void NAME(float* data, int n) {                                         \
    cudaStream_t lanes[2];                                                \
    for (auto& lane : lanes) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking); \
    for (int i = 0; i < 2; ++i) {                                         \
      fill<<<1, 64, 0, lanes[i]>>>(data, n);                              \
      after<MODE>(lanes[i]);                                              \
    }                                                                     \
    cudaDeviceSynchronize();                                              \
  }
AFTER(after_a, Yes)
AFTER(after_b, Yes)
AFTER(after_c, No)
// CHECK-MESSAGES: :[[@LINE-1]]:1: warning: kernel 'fill' on stream 'lanes[i]' may write 'data' while kernel 'fill' on stream 'lanes[i]', in an earlier iteration, still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:1: note: 'data' is written here, on stream 'lanes[i]'
// CHECK-NOTES: :[[@LINE-3]]:1: note: stream 'lanes[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:1: note: kernel 'fill' may be that of an earlier iteration: record an event in stream 'lanes[i]' of that iteration after the write and let stream 'lanes[i]' of the next one wait for it with cudaStreamWaitEvent before kernel 'fill'

#ifdef FIXED
#define LAST move_first
#else
#define LAST move_second
#endif
#define MOVE(NAME, KERNEL)                                                \
  void NAME(float* shared, int n) {                                       \
    cudaStream_t lanes[2];                                                \
    float* own[2];                                                        \
    for (auto& lane : lanes) cudaStreamCreateWithFlags(&lane, cudaStreamNonBlocking); \
    for (auto& each : own) cudaMalloc(&each, n * sizeof(float));          \
    for (int i = 0; i < 2; ++i) KERNEL<<<1, 64, 0, lanes[i]>>>(own[i], shared, n); \
    cudaDeviceSynchronize();                                              \
  }
MOVE(move_a, move_first)
MOVE(move_b, move_first)
MOVE(move_c, LAST)
// CHECK-MESSAGES: :[[@LINE-1]]:14: warning: kernel 'move_second' on stream 'lanes[i]' may write 'shared' while kernel 'move_second' on stream 'lanes[i]', in an earlier iteration, still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:14: note: 'shared' is written here, on stream 'lanes[i]'
// CHECK-NOTES: :[[@LINE-3]]:1: note: stream 'lanes[i]' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-4]]:14: note: kernel 'move_second' may be that of an earlier iteration: record an event in stream 'lanes[i]' of that iteration after the write and let stream 'lanes[i]' of the next one wait for it with cudaStreamWaitEvent before kernel 'move_second'
