// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two threads of OpenMP and its barrier, which is made of atomics and system calls that are no calls of libc's: its threads
// are known to hide order (atomic-wait.cu).
//
// RUN: %build -Xcompiler=-fopenmp %s -o %t -lgomp -lpthread
// RUN: %verdicts 3 error,possible %run %t
// RUN: %always 3 66 env STREAMSAN_OPTIONS=host_threads=strict %run %t
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %racy %t 2>&1 | %report
// RUN: %build -Xcompiler=-fopenmp -DFIXED %s -o %t.fixed -lgomp -lpthread
// RUN: %verdicts 3 none,possible %run %t.fixed
// RUN: %always 3 0 env STREAMSAN_OPTIONS=host_threads=strict %run %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
#include <omp.h>

#include "hand_over.h"

int main() {
  const HandOver over;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      over.write();
#ifdef FIXED
      over.wait();
#endif
    }
#pragma omp barrier
    if (omp_get_thread_num() == 1) over.read();
#pragma omp barrier
    if (omp_get_thread_num() == 0) over.wait();
  }
}
