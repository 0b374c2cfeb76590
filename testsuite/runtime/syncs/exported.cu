// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that was named for other processes: what they do with it is not seen. The twin names none.
//
// RUN: %build %s -o %t
// RUN: %syncs %t 2>&1 | %report
// RUN: %build -DTWIN %s -o %t.twin
// RUN: %syncs %t.twin 2>&1 | %sites --check-prefix=TWIN
//
// CHECK-NOT: sync unneeded
// CHECK: sync unknown: whether cudaStreamSynchronize ([[SYNC]]) is needed is not known.
// CHECK: Why: others may use what they were given by cuIpcGetMemHandle (1 call).
// TWIN: sync unneeded: cudaStreamSynchronize ([[SYNC]]) is not needed in this run.
#include <dlfcn.h>

#include "syncs.h"

int main(int argc, char** argv) {
  begin(argc, argv);
  float *a = device_floats(), *b = device_floats();
  cudaStream_t stream = non_blocking_stream();
#ifndef TWIN
  // The null driver has no handle to give, and so the runtime beside it has no such function.
  using Export = int (*)(void* handle, unsigned long long memory);
  const auto get = reinterpret_cast<Export>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuIpcGetMemHandle"));
  char handle[64];
  (void)get(handle, reinterpret_cast<unsigned long long>(a));
#endif
  run_set(stream, a, 1);
  must(cudaStreamSynchronize(stream));  // @SYNC
  run_add(stream, b, a, 1);
  finish(stream, b, 2);
}
