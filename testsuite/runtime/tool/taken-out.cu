// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A child that is started without LD_PRELOAD is not recorded. The launcher sees that it has the driver, and says so: the
// run is not a clean one. The same child with its environment is recorded. (It waits until somebody has had the time to
// look.) It is the same with the program itself, if it is started with an empty environment or replaces itself.
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: %expect 0 %streamsan run --json=%t.json -- %t out 2>&1 | %filecheck %s --check-prefix=OUT
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
// RUN: env CI=true %expect 2 %run %t out
// RUN: %expect 66 %run %t in 2>&1 | %filecheck %s --check-prefix=IN
// RUN: %expect 0 %run env -i LD_LIBRARY_PATH=%null %t 2>&1 | %filecheck %s --check-prefix=OUT
// RUN: %expect 0 %run %t replaced 2>&1 | %filecheck %s --check-prefix=OUT
//
// OUT-NOT: ERROR
// OUT: WARNING: process {{[0-9]+}} ({{.*}}) has loaded the CUDA driver and is not recorded: LD_PRELOAD was taken out of its environment
// JSON: summary.whole = false
// IN-NOT: not recorded
// IN: ERROR: streamsan: write-after-write
// IN-NOT: not recorded
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "must.h"

int main(int argc, char** argv) {
  if (argc == 2) {
    const bool replaced = std::strcmp(argv[1], "replaced") == 0;
    if (replaced || std::strcmp(argv[1], "out") == 0) unsetenv("LD_PRELOAD");
    if (replaced || fork() == 0) {
      execl(argv[0], argv[0], nullptr);
      _exit(98);
    }
    int status = 0;
    wait(&status);
    return WEXITSTATUS(status);
  }
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    must(cudaMemsetAsync(buffer, i, 4096, stream));
  }
  usleep(1'000'000);
}
