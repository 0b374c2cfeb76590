// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C11: a cnd_t that is signalled.
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
  cnd_t condition;
  bool ready = false;
};

int read_it(void* argument) {
  Shared& shared = *static_cast<Shared*>(argument);
  mtx_lock(&shared.mutex);
  while (!shared.ready) cnd_wait(&shared.condition, &shared.mutex);
  mtx_unlock(&shared.mutex);
  shared.over.read();
  return 0;
}

}  // namespace

int main() {
  Shared shared;
  mtx_init(&shared.mutex, mtx_plain);
  cnd_init(&shared.condition);
  thrd_t reader;
  thrd_create(&reader, read_it, &shared);
  shared.over.write_and([&] {
    mtx_lock(&shared.mutex);
    shared.ready = true;
    mtx_unlock(&shared.mutex);
    cnd_broadcast(&shared.condition);
  });
  thrd_join(reader, nullptr);
  cnd_destroy(&shared.condition);
  mtx_destroy(&shared.mutex);
}
