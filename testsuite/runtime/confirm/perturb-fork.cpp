// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A child made by fork that initialises CUDA itself begins anew: its streams are numbered from the first, and delayed
// as its parent's were. Its memory is poisoned, too, and what its parent allocated is not its own.
//
// REQUIRES: nulldriver
// RUN: %build_driver -Xlinker --export-dynamic-symbol=clock_nanosleep %s -o %t
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:perturb=7:perturb_seed=4:poison=1:verbosity=1 %expect 0 %run %t > %t.out 2> %t.err
// RUN: %filecheck %s --input-file %t.out
// RUN: %filecheck %s --check-prefix=TOLD --input-file %t.err
// RUN: %t | %filecheck %s --check-prefix=OFF
//
// CHECK: [[DELAYS:[.D]*D[.D]*]] freed ff
// CHECK: {{^}}[[DELAYS]] freed ff
// TOLD-COUNT-2: operations were delayed by 7 ms (perturb_seed=4)
// OFF-NOT: D
// OFF-COUNT-2: freed 11
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "first_device.h"
#include "must.h"
#include "sleeps.h"

static void work() {
  use_first_device();
  CUstream stream;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr buffer, other;
  must(cuMemAlloc(&buffer, 4096));
  must(cuMemAlloc(&other, 4096));
  const std::string delays = delays_of(200, [&](int) { must(cuMemsetD8Async(buffer, 0x11, 4096, stream)); });
  must(cuStreamSynchronize(stream));
  std::memset(reinterpret_cast<char*>(other), 0x11, 4096);
  must(cuMemFree(other));
  std::printf("%s freed %02x\n", delays.c_str(), *reinterpret_cast<unsigned char*>(other));
  std::fflush(stdout);
}

int main() {
  work();
  if (fork() == 0) {
    work();
    return 0;
  }
  int status = 0;
  wait(&status);
  return status != 0;
}
