// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the guest prints and how it ends is the same, byte by byte, with and without StreamSan; reports go to the log
// file.
//
// RUN: %build %s -o %t
// RUN: %expect 7 %t < %s > %t.out 2> %t.err
// RUN: rm -rf %t.logs
// RUN: env STREAMSAN_OPTIONS=exitcode=0:log_path=%t.logs/deep/report.txt %expect 7 %run %t < %s > %t.out2 2> %t.err2
// RUN: cmp %t.out %t.out2
// RUN: cmp %t.err %t.err2
// RUN: %filecheck %s --check-prefix=OUT --input-file %t.out2
// RUN: %report --input-file %t.logs/deep/report.txt
//
// OUT: environment: 0
// OUT: 6 lines of input at least
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
#include <fcntl.h>
#include <unistd.h>
#include <cstring>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
  must(cudaMemsetAsync(buffer, 0, 4096, s1));  // @FIRST
  must(cudaMemsetAsync(buffer, 1, 4096, s2));  // @SECOND
  // A descriptor the recorder keeps open must not be one the guest would have got.
  int first = open("/dev/null", O_RDONLY);
  int second = open("/dev/null", O_RDONLY);
  std::printf("descriptors: %d\n", second - first);
  std::printf("environment: %d\n", std::getenv("CUDA_LAUNCH_BLOCKING") != nullptr);
  char line[512];
  int lines = 0;
  while (std::fgets(line, sizeof line, stdin)) ++lines;
  std::printf("%s\n", lines >= 6 ? "6 lines of input at least" : "input is missing");
  std::fprintf(stderr, "to stderr\n");
  return 7;
}
