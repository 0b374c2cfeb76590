// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process uses CUDA and then replaces itself by exec. Process id and trace name stay the same; neither part may
// overwrite the other.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json %t.json -- %t first 2>&1 | %report
// RUN: %json %t.json | %sites --check-prefix=JSON
//
// CHECK-DAG: work(){{.*}}[[PLACE]]
// JSON: summary.errors = 2
#include <unistd.h>

#include "must.h"

void work() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    must(cudaMemsetAsync(buffer, i, 4096, stream));  // @PLACE
  }
}

int main(int argc, char** argv) {
  work();
  if (argc == 2) execl(argv[0], argv[0], nullptr);
  return argc == 2 ? 98 : 0;
}
