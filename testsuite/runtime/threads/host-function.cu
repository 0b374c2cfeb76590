// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host function is an operation of its stream and orders nothing in other streams. But it can tell the host that the
// work before it is done, and a host that waits to be notified (NOTIFIED) has order that no driver call shows: what would
// be an error is possible then. Work behind the function is not what it tells of.
//
// RUN: %build %s -o %t
// RUN: %racy %t 2>&1 | %report
// RUN: %build -DNOTIFIED %s -o %t.notified
// RUN: env STREAMSAN_OPTIONS=min_severity=possible %expect 0 %run %t.notified 2>&1 | %filecheck %s --check-prefix=NOTIFIED
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: %silent %t.fixed
//
// CHECK: ERROR: streamsan: write-after-write
// CHECK: main{{.*}}[[SECOND]]
// CHECK: main{{.*}}[[FIRST]]
//
// NOTIFIED-NOT: ERROR: streamsan
// NOTIFIED: POSSIBLE: streamsan: write-after-write
// NOTIFIED: A host function behind cudaMemsetAsync {{.*}}may have notified the host that it is done
#include <atomic>
#include <thread>

#include "must.h"

int main() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  cudaStream_t s1, s2;
  must(cudaStreamCreate(&s1));
  must(cudaStreamCreate(&s2));
#ifdef FIXED
  s2 = s1;
#endif
  static std::atomic<int> calls{0};
  auto tell = [&] {
    must(cudaLaunchHostFunc(s1, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &calls));
  };
#ifndef NOTIFIED
  tell();
#endif
  must(cudaMemsetAsync(buffer, 1, 4096, s1));  // @FIRST
#ifdef NOTIFIED
  tell();
  while (calls == 0) std::this_thread::yield();
#endif
  must(cudaMemsetAsync(buffer, 2, 4096, s2));  // @SECOND
  must(cudaDeviceSynchronize());
  if (calls != 1) return 98;
}
