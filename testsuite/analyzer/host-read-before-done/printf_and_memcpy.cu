// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: %check host-read-before-done %s
// RUN: %check host-read-before-done %s -- -DFIXED
//
// C library functions read the buffer for the program.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

void report(const char* d_text, char* copy) {
  cudaStream_t stream;
  char* text = nullptr;
  cudaStreamCreate(&stream);
  cudaMallocHost(&text, 128);
  cudaMemcpyAsync(text, d_text, 128, cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  std::memcpy(copy, text, 128);
// CHECK-MESSAGES: :[[@LINE-1]]:3: warning: the host may read 'text' while cudaMemcpyAsync (device to host) on stream 'stream' still writes it [streamsan-host-read-before-done]
// CHECK-NOTES: :[[@LINE-6]]:3: note: 'text' is written here, on stream 'stream'
// CHECK-NOTES: :[[@LINE+4]]:3: note: this waits for it, but comes too late
// CHECK-NOTES: :[[@LINE-10]]:3: note: stream 'stream' is created here
// CHECK-NOTES: :[[@LINE-10]]:3: note: 'text' is allocated here
// CHECK-NOTES: :[[@LINE-6]]:3: note: wait for stream 'stream' with cudaStreamSynchronize before the read
  cudaStreamSynchronize(stream);
  std::printf("%s\n", text);
  cudaFreeHost(text);
  cudaStreamDestroy(stream);
}
