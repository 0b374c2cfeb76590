// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of one warp that is given memory of the host may be waiting for it, and measuring would keep the host from
// what the kernel waits for. It is not measured, and neither is the next kernel before the host has waited for the first.
//
// RUN: %build %s -o %t
// RUN: %measured SCRIPT %expect 0 %streamsan run -v 1 -- %t 2>&1 | %filecheck %s
// RUN: %build -DWAITED %s -o %t.waited
// RUN: %measured SCRIPT %expect 0 %streamsan run -v 1 -- %t.waited 2>&1 | %filecheck %s --check-prefix=WAITED
// RUN: %build -DWIDE %s -o %t.wide
// RUN: %measured SCRIPT %expect 0 %streamsan run -v 1 -- %t.wide 2>&1 | %filecheck %s --check-prefix=WIDE
//
// SCRIPT: poll read #0 4
// SCRIPT: work write #0 4096
//
// CHECK: footprints of kernels measured: 0 launches in
// WAITED: footprints of kernels measured: 1 launch in
// WIDE: footprints of kernels measured: 2 launches in
#include "must.h"

__global__ void poll(const volatile int* flag) {
  while (*flag == 0) {
  }
}
__global__ void work(float* buffer) { buffer[threadIdx.x + blockIdx.x * blockDim.x] = 1; }

int main() {
#ifdef WIDE
  constexpr unsigned kThreads = 64;
#else
  constexpr unsigned kThreads = 32;
#endif
  int* flag;
  must(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
  *flag = 1;
  float* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  poll<<<1, kThreads, 0, stream>>>(flag);
  must(cudaGetLastError());
#ifdef WAITED
  must(cudaStreamSynchronize(stream));
#endif
  work<<<4, 256, 0, stream>>>(buffer);
  must(cudaGetLastError());
  must(cudaDeviceSynchronize());
}
