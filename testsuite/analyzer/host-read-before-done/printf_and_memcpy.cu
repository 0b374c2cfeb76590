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
  std::memcpy(copy, text, 128);  // FIRES: host-read-before-done
  cudaStreamSynchronize(stream);
  std::printf("%s\n", text);
  cudaFreeHost(text);
  cudaStreamDestroy(stream);
}
