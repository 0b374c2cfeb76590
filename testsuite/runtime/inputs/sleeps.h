// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The delays of --perturb, counted where they happen: the recorder sleeps by clock_nanosleep, and finds the program's
// own (build with -Xlinker --export-dynamic-symbol=clock_nanosleep). On the null driver a host function runs within the
// call that submits it, so a delay belongs to the call during which the count went up. Nothing sleeps here.
#pragma once

#include <time.h>

#include <atomic>
#include <string>

inline std::atomic<int> sleeps{0};
inline thread_local int own_sleeps = 0;

extern "C" int clock_nanosleep(clockid_t, int, const struct timespec* rest, struct timespec*) {
  if (rest->tv_nsec != 7'000'000 || rest->tv_sec != 0) return 0;  // the tests ask for 7 ms
  ++sleeps;
  ++own_sleeps;
  return 0;
}

/// Makes the calls and tells which of them were delayed: 'D' or '.'.
template <typename Call>
std::string delays_of(int calls, Call call) {
  std::string delays;
  for (int i = 0; i < calls; ++i) {
    const int before = own_sleeps;
    call(i);
    delays += own_sleeps == before ? '.' : 'D';
  }
  return delays;
}
