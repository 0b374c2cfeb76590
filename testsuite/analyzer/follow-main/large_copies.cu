// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check cross-stream-race %s
// RUN: %check cross-stream-race %s -- -DFIXED
//
// What stands far behind in a large table is known as well, after it was copied, moved and filled.
#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>
#include <vector>

__global__ void scale(float* rows) { rows[threadIdx.x] *= 2; }

int main() {
  const size_t last = (size_t{32} << 20u) / sizeof(int);
  std::vector<int> plan(last + 2);
  plan[last] = 0;
#ifdef FIXED
  plan[last + 1] = 1;
#endif
  std::vector<int> copy = plan;
  const size_t bytes = copy.size() * sizeof(int);
  int* moved = static_cast<int*>(std::malloc(bytes));
  std::memset(moved, 1, bytes);
  std::memset(moved, 0, bytes);
  std::memcpy(moved, copy.data(), bytes);
  moved = static_cast<int*>(std::realloc(moved, 2 * bytes));

  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  float* rows[2];
  for (float*& each : rows) cudaMalloc(&each, 4096);
  for (int i = 0; i < 2; ++i) {
    scale<<<1, 256, 0, streams[i]>>>(rows[moved[last + i]]);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: kernel 'scale' on stream 'stream (2)' may write 'each' while kernel 'scale' on stream 'stream (1)' still writes it [streamsan-cross-stream-race]
// CHECK-NOTES: :[[@LINE-2]]:5: note: 'each' is written here, on stream 'stream (1)'
// CHECK-NOTES: :[[@LINE-7]]:40: note: stream 'stream (1)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-8]]:40: note: stream 'stream (2)' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-7]]:29: note: 'each' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:5: note: nothing orders stream 'stream (2)' after stream 'stream (1)': record an event in stream 'stream (1)' after the write and let stream 'stream (2)' wait for it with cudaStreamWaitEvent before kernel 'scale'
// CHECK-NOTES: :[[@LINE-7]]:5: note: main() was followed to here, with zeros for what the GPU computes
  }
  cudaDeviceSynchronize();
}
