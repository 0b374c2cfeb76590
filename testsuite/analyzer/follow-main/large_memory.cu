// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-write-before-done %s
// RUN: %check host-write-before-done %s -- -DFIXED
//
// A program that fills much memory is followed past that.
#include <cuda_runtime.h>

#include <cstring>
#include <vector>

int main() {
  std::vector<char> picture(100u << 20u);
  for (int i = 0; i < 8; ++i) std::memset(picture.data(), i, picture.size());
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  std::vector<char*> idle(2);
  for (char*& each : idle) cudaMallocHost(&each, 4096);
  char* device;
  cudaMalloc(&device, 4096);
  for (int i = 0; i < 6; ++i) {
    char* const staged = idle.front();
    idle.erase(idle.begin());
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
    std::memcpy(staged, picture.data(), 4096);
// CHECK-MESSAGES: :[[@LINE-1]]:5: warning: the host may write 'each' while cudaMemcpyAsync on stream 'stream' still reads it [streamsan-host-write-before-done]
// CHECK-NOTES: :[[@LINE+5]]:5: note: 'each' is read here, on stream 'stream'
// CHECK-NOTES: :[[@LINE-14]]:3: note: stream 'stream' is created here (non-blocking)
// CHECK-NOTES: :[[@LINE-13]]:28: note: 'each' is allocated here
// CHECK-NOTES: :[[@LINE-5]]:5: note: wait for stream 'stream' with cudaStreamSynchronize before the write
// CHECK-NOTES: :[[@LINE-6]]:5: note: main() was followed to here, with zeros for what the GPU computes
    cudaMemcpyAsync(device, staged, 4096, cudaMemcpyHostToDevice, stream);
    idle.push_back(staged);
  }
  cudaDeviceSynchronize();
}
