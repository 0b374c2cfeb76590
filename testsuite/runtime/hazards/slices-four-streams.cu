// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One allocation, four kernels on four streams, each given the start of its own quarter. Where a kernel stops is not
// known, so an error would be a guess: at most `possible`, and the exit code stays 0. The same quarters by copies are
// exact: silent.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %filecheck %s --allow-empty --implicit-check-not=ERROR --implicit-check-not=LATENT
// RUN: %build -DCOPIES %s -o %t.copies
// RUN: %silent %t.copies
// RUN: %expect 0 %streamsan run --json %t.json -- %t.copies
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
//
// CHECK-NOT: exit code
// JSON: summary.errors = 0
// JSON: summary.operations = 4
#include "must.h"

__global__ void fill(float*, int) {}

int main() {
  constexpr int kSlices = 4, kFloats = 1024;
  float *buffer, *host;
  must(cudaMalloc(&buffer, kSlices * kFloats * sizeof(float)));
  must(cudaMallocHost(&host, kSlices * kFloats * sizeof(float)));
  for (int i = 0; i < kSlices; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
#ifdef COPIES
    must(cudaMemcpyAsync(buffer + i * kFloats, host + i * kFloats, kFloats * sizeof(float), cudaMemcpyHostToDevice,
                         stream));
#else
    fill<<<4, 256, 0, stream>>>(buffer + i * kFloats, kFloats);
    must(cudaGetLastError());
#endif
  }
}
