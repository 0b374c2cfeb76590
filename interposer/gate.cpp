// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/gate.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>

#include "interposer/clock.h"
#include "interposer/fork.h"
#include "interposer/hot.h"

namespace streamsan::recorder {
namespace {

// A thread that enters first counts itself and then looks whether the gate is closed; a thread that closes the gate
// first closes it and then looks at the count. So, in the single order of these operations, at least one of the two
// sees the other.
constinit std::atomic<std::uint32_t> g_inside{0};
STREAMSAN_HOT_DATA constinit std::atomic<std::uint32_t> g_closed{0};  // a futex
// A fork keeps g_cancel_state: it is used by the thread that has closed the gate, and in a child none has.
constinit int g_cancel_state = 0;  // of the thread that has the gate: it must live to open it

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

}  // namespace

STREAMSAN_HOT_CODE void Gate::enter() {
  for (;;) {
    g_inside.fetch_add(1);
    if (g_closed.load() == 0) [[likely]]
      return;
    g_inside.fetch_sub(1);
    futex(g_closed, FUTEX_WAIT, 1, nullptr);
  }
}

STREAMSAN_HOT_CODE void Gate::leave() { g_inside.fetch_sub(1); }

bool Gate::close(std::uint32_t patience_ms) {
  if (g_closed.exchange(1) != 0) return false;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &g_cancel_state);
  const std::uint64_t deadline = monotonic_ns() + patience_ms * kNanosecondsPerMillisecond;
  while (g_inside.load() != 0) {
    if (monotonic_ns() > deadline) {
      open();
      return false;
    }
    const timespec nap{0, 50'000};
    nanosleep(&nap, nullptr);
  }
  return true;
}

void Gate::open() {
  const int cancel_state = g_cancel_state;
  g_closed.store(0);
  futex(g_closed, FUTEX_WAKE, INT_MAX, nullptr);
  pthread_setcancelstate(cancel_state, nullptr);
}

void in_child::gate() {
  g_inside.store(0);
  g_closed.store(0);
}

}  // namespace streamsan::recorder
