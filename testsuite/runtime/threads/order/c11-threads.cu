// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C11: the start of a thread, and its end with a result.
//
// RUN: %build %s -o %t -lpthread
// RUN: %verdicts 3 error,possible %run %t
// RUN: %always 3 66 env STREAMSAN_OPTIONS=host_threads=strict %run %t
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %racy %t 2>&1 | %report
// RUN: %build -DFIXED %s -o %t.fixed -lpthread
// RUN: %verdicts 3 none %run %t.fixed
// RUN: %always 3 0 env STREAMSAN_OPTIONS=host_threads=strict %run %t.fixed
// RUN: env STREAMSAN_OPTIONS=host_threads=strict %silent %t.fixed
//
// CHECK: ERROR: streamsan: read-after-write
#include <stdlib.h>
#include <threads.h>

#include "hand_over.h"

namespace {

constexpr int kResult = -7;  // of which a pointer would keep too much

int read_it(void* over) {
  static_cast<const HandOver*>(over)->read();
  return kResult;
}

}  // namespace

int main() {
  HandOver over;
  thrd_t reader;
  over.write_and([&] {
    if (thrd_create(&reader, read_it, &over) != thrd_success) abort();
  });
  int result = 0;
  if (thrd_join(reader, &result) != thrd_success || result != kResult) abort();
}
