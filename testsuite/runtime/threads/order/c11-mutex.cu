// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C11: a flag that a mtx_t guards.
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
#include <threads.h>

#include "hand_over.h"

namespace {

struct Shared {
  HandOver over;
  mtx_t mutex;
  bool ready = false;
};

int read_it(void* argument) {
  Shared& shared = *static_cast<Shared*>(argument);
  for (bool is_ready = false; !is_ready; thrd_yield()) {
    mtx_lock(&shared.mutex);
    is_ready = shared.ready;
    mtx_unlock(&shared.mutex);
  }
  shared.over.read();
  return 0;
}

int write_it(void* argument) {
  Shared& shared = *static_cast<Shared*>(argument);
  shared.over.write_and([&] {
    mtx_lock(&shared.mutex);
    shared.ready = true;
    mtx_unlock(&shared.mutex);
  });
  return 0;
}

}  // namespace

int main() {
  Shared shared;
  mtx_init(&shared.mutex, mtx_plain);
  thrd_t reader, writer;
  thrd_create(&reader, read_it, &shared);
  thrd_create(&writer, write_it, &shared);
  thrd_join(writer, nullptr);
  thrd_join(reader, nullptr);
  mtx_destroy(&shared.mutex);
}
