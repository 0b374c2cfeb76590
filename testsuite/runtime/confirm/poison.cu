// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --poison fills memory with 0xff when it is freed, and stream-ordered memory when it is handed out: all of it, and not
// a byte behind it. Memory of the null driver is host memory that stays mapped, so the program can look at
// what it has freed. Registered memory is the program's own and stays as it is, as does what is freed during a capture.
// Our fills are not recorded, and the program's calls return what they return without us, also if ours fail.
//
// REQUIRES: nulldriver
// RUN: %build %s -o %t
// RUN: %run %t | %filecheck %s --check-prefixes=BOTH,OFF
// RUN: env STREAMSAN_OPTIONS=footprints=inferred:poison=1 %run %t > %t.on
// RUN: %filecheck %s --check-prefixes=BOTH,ON --input-file %t.on
// RUN: rm -f %t.trace
// RUN: env LD_PRELOAD=%preload STREAMSAN_OPTIONS=trace_path=%t.trace:poison=1 STREAMSAN_NULL_COUNTS=%t.driver %t
// RUN: %trace_counts %t.trace > %t.recorded
// RUN: sh -c 'cat %t.recorded %t.driver' | %filecheck %s --check-prefix=COUNTS
// RUN: env STREAMSAN_NULL_FAIL=cuMemsetD8Async:1:999,cuStreamCreate:3:999 STREAMSAN_OPTIONS=footprints=inferred:poison=1 %expect 0 %run %t fails | %filecheck %s --check-prefix=FAIL
//
// OFF: cudaFree 11 11 behind 22
// ON: cudaFree ff ff behind 22
// OFF: pitched 11 11
// ON: pitched ff ff
// OFF: managed 11 11
// ON: managed ff ff
// OFF: pinned 11 11 behind 22
// ON: pinned ff ff behind 22
// OFF: asynchronous 11 11 behind 22
// ON: asynchronous ff ff behind 22
// OFF: handed out again 11 33 behind 22
// ON: handed out again ff ff behind 22
// OFF: asynchronous, freed by cudaFree 11 11
// ON: asynchronous, freed by cudaFree ff ff
// BOTH: registered 11 11
// BOTH: while captured 11 11
//
// One fill is the program's: it is recorded, the others are not. Each cudaFree has a stream for itself.
// COUNTS: cuMemsetD8Async 1
// COUNTS: cuStreamCreate 1
// COUNTS: cuMemsetD8Async 8
// COUNTS: cuStreamCreate 5
// COUNTS: cuStreamDestroy_v2 4
//
// The first fill of ours fails, and the second stream of ours is not made.
// FAIL: cudaFree 11 11 behind 22
// FAIL: pitched 11 11
// FAIL: managed ff ff
#include <cstring>
#include <vector>

#include "must.h"

constexpr size_t kBytes = 5000;

/// Fills kBytes and marks the byte behind them, which is there: the heaps of the null driver round sizes up.
static void mark(char* at) {
  std::memset(at, 0x11, kBytes);
  at[kBytes] = 0x22;
}

static void tell(const char* what, const char* at, size_t bytes, bool behind = false) {
  std::printf("%s %02x %02x", what, at[0] & 0xff, at[bytes - 1] & 0xff);
  if (behind) std::printf(" behind %02x", at[bytes] & 0xff);
  std::printf("\n");
}

int main() {
  cudaStream_t stream;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  char* a;
  must(cudaMalloc(&a, kBytes));
  mark(a);
  must(cudaFree(a));
  tell("cudaFree", a, kBytes, true);

  size_t pitch;
  must(cudaMallocPitch(&a, &pitch, 100, 10));
  std::memset(a, 0x11, pitch * 10);
  must(cudaFree(a));
  tell("pitched", a, pitch * 10);

  must(cudaMallocManaged(&a, kBytes));
  std::memset(a, 0x11, kBytes);
  must(cudaFree(a));
  tell("managed", a, kBytes);

  must(cudaMallocHost(&a, kBytes));
  mark(a);
  must(cudaFreeHost(a));
  tell("pinned", a, kBytes, true);

  must(cudaMallocAsync(&a, kBytes, stream));
  must(cudaStreamSynchronize(stream));
  mark(a);
  must(cudaFreeAsync(a, stream));
  must(cudaStreamSynchronize(stream));
  tell("asynchronous", a, kBytes, true);

  mark(a);
  a[kBytes - 1] = 0x33;
  char* again;
  must(cudaMallocAsync(&again, kBytes, stream));
  if (again != a) return 98;
  tell("handed out again", again, kBytes, true);
  must(cudaMemsetAsync(again, 0x11, kBytes, stream));
  must(cudaStreamSynchronize(stream));
  must(cudaFree(again));
  tell("asynchronous, freed by cudaFree", again, kBytes);

  std::vector<char> own(kBytes, 0x11);
  must(cudaHostRegister(own.data(), kBytes, 0));
  must(cudaHostUnregister(own.data()));
  tell("registered", own.data(), kBytes);

  must(cudaMalloc(&a, kBytes));
  std::memset(a, 0x11, kBytes);
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  must(cudaFree(a));
  cudaGraph_t graph;
  must(cudaStreamEndCapture(stream, &graph));
  tell("while captured", a, kBytes);
}
