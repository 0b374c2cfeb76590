// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads of ours in the guest's process, and how long others wait for them.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <cstdint>

namespace streamsan {

/// Before the first wait: deadlines are of CLOCK_MONOTONIC. (pthread_cond_clockwait() could do without, from glibc
/// 2.30.)
inline void use_monotonic_clock(pthread_cond_t& condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

/// The moment so many milliseconds from now, for pthread_cond_timedwait() after use_monotonic_clock().
inline timespec deadline_in(std::uint32_t milliseconds) {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  time.tv_sec += milliseconds / 1000;
  time.tv_nsec += static_cast<long>(milliseconds % 1000) * 1'000'000;
  if (time.tv_nsec >= 1'000'000'000) {
    time.tv_nsec -= 1'000'000'000;
    ++time.tv_sec;
  }
  return time;
}

/// Starts a thread that nobody joins. The guest's signals are for the guest's threads: this one gets none. False: there
/// is none.
inline bool start_own_thread(void* (*loop)(void*), void* self) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, loop, self) == 0;
  if (started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace streamsan
