// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pageable memory goes away while an asynchronous copy may still read it: a vector's end, realloc that moves, munmap.
// That the call waits for pageable memory is documented as possible only (R-CPY-13): latent.
//
// REQUIRES: loans
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %report
// RUN: %build -DMOVES %s -o %t.moves
// RUN: %expect 0 %run %t.moves 2>&1 | %report
// RUN: %build -DUNMAPS %s -o %t.unmaps
// RUN: %expect 0 %run %t.unmaps 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: %build -DFIXED -DMOVES %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: %build -DFIXED -DUNMAPS %s -o %t.fixed
// RUN: %silent %t.fixed
// RUN: env STREAMSAN_OPTIONS=footprints=inferred,host_frees=0 %silent %t
//
// CHECK-NOT: ERROR
// CHECK: LATENT: streamsan:
// CHECK: {{free|realloc|munmap}}
// CHECK: main{{.*}}[[FREE]]
// CHECK: cudaMemcpyAsync
// CHECK: main{{.*}}[[COPY]]
// CHECK: R-CPY-13
#include <sys/mman.h>

#include <cstdlib>

#include "must.h"

int main() {
  constexpr size_t kBytes = 1 << 16;
  char* device;
  must(cudaMalloc(&device, kBytes));
  cudaStream_t stream;
  must(cudaStreamCreate(&stream));
#ifdef UNMAPS
  void* host = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#else
  void* host = std::malloc(kBytes);
  void* behind = std::malloc(kBytes);  // it cannot grow where it is
#endif
  must(cudaMemcpyAsync(device, host, kBytes, cudaMemcpyHostToDevice, stream));  // @COPY
#ifdef FIXED
  must(cudaStreamSynchronize(stream));
#endif
#if defined(UNMAPS)
  munmap(host, kBytes);  // @FREE
#elif defined(MOVES)
  host = std::realloc(host, 4 * kBytes);  // @FREE
#else
  std::free(host);  // @FREE
#endif
  must(cudaStreamSynchronize(stream));
#ifndef UNMAPS
  std::free(behind);
#endif
}
