// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pageable memory goes away while an asynchronous copy may still read it: a vector's end, realloc that moves, munmap.
// That the call waits for pageable memory is documented as possible only (R-CPY-13): latent.
//
// RUN: %build %s -o %t
// RUN: %expect 0 %run %t 2>&1 | %sites --check-prefixes=CHECK,FREES
// RUN: %build -DMOVES %s -o %t.moves
// RUN: %expect 0 %run %t.moves 2>&1 | %sites --check-prefixes=CHECK,MOVES
// RUN: %build -DUNMAPS %s -o %t.unmaps
// RUN: %expect 0 %run %t.unmaps 2>&1 | %sites --check-prefixes=CHECK,UNMAPS
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
// FREES: Free by free() on the host
// FREES-NEXT: main{{.*}}[[FREE]]
// MOVES: Free by realloc() on the host
// MOVES-NEXT: main{{.*}}[[MOVE]]
// UNMAPS: Free by munmap() on the host
// UNMAPS-NEXT: main{{.*}}[[UNMAP]]
// CHECK: Previous read by cudaMemcpyAsync (host to device) on stream 1
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
  munmap(host, kBytes);  // @UNMAP
#elif defined(MOVES)
  host = std::realloc(host, 4 * kBytes);  // @MOVE
#else
  std::free(host);  // @FREE
#endif
  must(cudaStreamSynchronize(stream));
#ifndef UNMAPS
  std::free(behind);
#endif
}
