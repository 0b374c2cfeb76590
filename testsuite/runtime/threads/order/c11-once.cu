// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C11: call_once(), by the writer first (once.cu).
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
#include <atomic>
#include <thread>
#include <threads.h>

#include "hand_over.h"

namespace {

const HandOver* over;
once_flag flag = ONCE_FLAG_INIT;
std::atomic<bool> begun = false;

void prepare() {
  begun = true;
  over->write();
#ifdef FIXED
  over->wait();
#endif
}

}  // namespace

int main() {
  const HandOver both;
  over = &both;
  std::thread writer([] {
    call_once(&flag, prepare);
#ifndef FIXED
    over->wait();
#endif
  });
  std::thread reader([] {
    while (!begun) std::this_thread::yield();
    call_once(&flag, prepare);
    over->read();
  });
  writer.join();
  reader.join();
}
