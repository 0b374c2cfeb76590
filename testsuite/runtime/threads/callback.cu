// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cudaStreamAddCallback, the older form of a host function: an operation of its stream, called with the stream and a
// status. It may tell the host of the work before it (NOTIFIED), as host-function.cu has it.
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
  auto called = [](cudaStream_t, cudaError_t status, void* count) {
    *static_cast<std::atomic<int>*>(count) += status == cudaSuccess;
  };
  auto tell = [&] { must(cudaStreamAddCallback(s1, called, &calls, 0)); };
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
