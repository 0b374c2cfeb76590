// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/gate.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "interposer/clock.h"
#include "interposer/fork.h"
#include "interposer/hot.h"

namespace streamsan::recorder {
namespace {

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

}  // namespace

constinit Gate g_launch_gate;
constinit Gate g_wait_gate;

STREAMSAN_HOT_CODE void Gate::enter() {
  for (;;) {
    inside_.fetch_add(1);
    if (closed_.load() == 0) [[likely]]
      return;
    inside_.fetch_sub(1);
    futex(closed_, FUTEX_WAIT, 1, nullptr);
  }
}

STREAMSAN_HOT_CODE void Gate::leave() { inside_.fetch_sub(1); }

bool Gate::close(std::uint32_t patience_ms) {
  if (closed_.exchange(1) != 0) return false;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
  const std::uint64_t deadline = monotonic_ns() + patience_ms * kNanosecondsPerMillisecond;
  while (inside_.load() != 0) {
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
  const int cancel_state = cancel_state_;
  closed_.store(0);
  futex(closed_, FUTEX_WAKE, INT_MAX, nullptr);
  pthread_setcancelstate(cancel_state, nullptr);
}

void Gate::forget() {
  inside_.store(0);
  closed_.store(0);
}

void in_child::gate() {
  g_launch_gate.forget();
  g_wait_gate.forget();
}

}  // namespace streamsan::recorder
