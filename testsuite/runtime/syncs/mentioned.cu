// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits for the whole device that have nothing to wait for are mentioned in one line, also where nothing else is to be
// said. The exit code stays 0. Not if there are few, if the waits have work to wait for, if another thread may have made
// the work, if the option says so, or with --syncs, which has a report of each.
//
// RUN: %build %s -o %t
// RUN: env STREAMSAN_OPTIONS=mention_waits=1 %expect 0 %run %t 2>&1 | %filecheck %s
// RUN: %silent %t
// RUN: %build -DFEW %s -o %t.few
// RUN: env STREAMSAN_OPTIONS=mention_waits=1 %silent %t.few
// RUN: %build -DFIXED %s -o %t.fixed
// RUN: env STREAMSAN_OPTIONS=mention_waits=1 %silent %t.fixed
// RUN: %build -DTHREADS %s -o %t.threads
// RUN: env STREAMSAN_OPTIONS=mention_waits=1 %silent %t.threads
// RUN: %syncs %t 2>&1 | %filecheck %s --check-prefix=SYNCS --implicit-check-not="for the whole device"
//
// CHECK: {{^}}streamsan: NOTE: 3 of 4 waits for the whole device (cudaDeviceSynchronize) had nothing to wait for,
// CHECK-SAME: --syncs --verbosity=1 shows them
// CHECK-NOT: {{.}}
// SYNCS: 2 synchronising call sites: 1 needed, 1 that never had to wait
#include <thread>

#include "must.h"

int main() {
#ifdef FEW
  constexpr int kWaits = 3;
#else
  constexpr int kWaits = 4;
#endif
  char* buffer;
  must(cudaMalloc(&buffer, 1024));
  must(cudaDeviceSynchronize());  // before any work: it may be there to start the device
  must(cudaMemsetAsync(buffer, 0, 1024, nullptr));
  for (int i = 0; i < kWaits; ++i) {
    must(cudaDeviceSynchronize());
#ifdef FIXED
    must(cudaMemsetAsync(buffer, 0, 1024, nullptr));
#endif
  }
#ifdef THREADS
  std::thread([] { must(cudaDeviceSynchronize()); }).join();
#endif
}
