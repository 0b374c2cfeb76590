// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A daemon, which its parent does not wait for and whose own parent ends at once. It is waited for, for one second, even
// if it has not come to CUDA when the program ends; one that stays longer is named.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %run %t 300 0 2>&1 | %report
// RUN: %expect 0 %run %t 2500 0 2>&1 | %filecheck %s --check-prefix=LATE
// RUN: %expect 66 %streamsan run --json=%t.json -- %t 0 2500 2>&1 | %filecheck %s --check-prefix=LONG
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
//
// CHECK-NOT: still runs
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[PLACE]]
// CHECK-NOT: still runs
// LATE: still runs, one second after the program's end, and has not used CUDA so far
// LATE: nothing was checked
// LONG-DAG: still runs, one second after the program's end: what it does from here on is not checked
// LONG-DAG: ERROR: streamsan: write-after-write
// JSON: summary.whole = false
#include <unistd.h>

#include <cstdlib>

#include "must.h"

int main(int, char** argv) {
  if (daemon(1, 1) != 0) return 97;
  usleep(std::atoi(argv[1]) * 1000);
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    must(cudaMemsetAsync(buffer, i, 4096, stream));  // @PLACE
  }
  usleep(std::atoi(argv[2]) * 1000);
}
