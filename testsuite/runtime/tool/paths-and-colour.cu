// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// strip_path_prefix shortens source paths; colour is for terminals, or on request, and not in files.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=strip_path_prefix=%S %racy %t 2>&1 | %filecheck %s
// RUN: env STREAMSAN_OPTIONS=color=always %racy %t 2>&1 | %filecheck %s --check-prefix=COLOUR
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main paths-and-colour.cu:
// CHECK: {{SUMMARY: .*race}} paths-and-colour.cu:
// COLOUR: {{\[1;31m.*ERROR: streamsan: write-after-write}}
#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    must(cudaMemsetAsync(buffer, i, 4096, stream));
  }
}
