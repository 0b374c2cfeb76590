// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch that is measured is not delayed, the other launches of the slow stream are: the agent waits for the kernel,
// and a delay would count as the kernel's time.
//
// REQUIRES: nulldriver
// RUN: %build -Xlinker --export-dynamic-symbol=clock_nanosleep %s -o %t
// RUN: %measured SCRIPT %expect 0 %streamsan run --perturb=7 --perturb_seed=2 -- %t | %filecheck %s
// RUN: env STREAMSAN_OPTIONS=footprints=inferred %expect 0 %streamsan run --perturb=7 --perturb_seed=2 -- %t | %filecheck %s --check-prefix=INFERRED
//
// SCRIPT: part@1 write #0 1024
// SCRIPT: part@2 write #0 1024
//
// CHECK: {{^[.][.]DDDD$}}
// INFERRED: {{^}}DDDDDD{{$}}
#include "must.h"
#include "sleeps.h"

__global__ void part(float* buffer) { buffer[threadIdx.x] = 1; }

int main() {
  float* buffer;
  must(cudaMalloc(&buffer, 1024));
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::string delays = delays_of(6, [&](int) { part<<<1, 256, 0, stream>>>(buffer); });
  must(cudaGetLastError());
  must(cudaStreamSynchronize(stream));
  std::printf("%s\n", delays.c_str());
}
