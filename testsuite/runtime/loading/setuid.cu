// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that runs with the rights of another user: the loader leaves out what is to be preloaded. The run says so and
// is not a clean one, in a program with a race. Without the bit the race is found.
//
// (Here root runs a program of somebody with fewer rights: the loader makes no difference. For such a program it forgets
// LD_LIBRARY_PATH, too, so the path of the null driver is in the program.)
//
// REQUIRES: nulldriver, root
// RUN: %build %s -Xlinker -rpath=%null -o %t
// RUN: %expect 66 %run %t 2>&1 | %filecheck %s --check-prefix=PLAIN
// RUN: chown 65534:65534 %t
// RUN: chmod u+s %t
// RUN: %expect 0 %streamsan run --json=%t.json --junit=%t.xml -- %t 2>&1 | %filecheck %s
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
// RUN: env CI=true %expect 2 %run %t
// RUN: %expect 0 %run sh -c '%t stay; true' 2>&1 | %filecheck %s --check-prefix=CHILD
//
// PLAIN: ERROR: streamsan: write-after-write
// CHECK-NOT: ERROR
// CHECK: WARNING: {{.*}}setuid.cu.tmp{{.*}}: it runs with the rights of another user (setuid, setgid or capabilities)
// JSON: summary.whole = false
// CHILD: WARNING: process {{[0-9]+}} ({{.*}}setuid.cu.tmp) has loaded the CUDA driver and is not recorded: {{.*}}rights of another user
#include <unistd.h>

#include "must.h"

int main(int argc, char**) {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    must(cudaMemsetAsync(buffer, i, 4096, stream));
  }
  if (argc > 1) usleep(1'000'000);  // somebody looks which libraries are there
}
