// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fake of the recorder behind the wrappers of libc: it keeps what the wrappers report to loans.h, and has one guarded
// range, whose protection it removes as guards.h does. It lives in the library of the wrappers, so that they are in
// another object, in front of libc, as in libstreamsan.so.
#pragma once

#include <cstddef>

#include "trace/format.h"

namespace streamsan::testing {

enum class What { Call, Free, Mapping };

struct Recorded {
  What what;
  const void* begin;
  std::size_t bytes;
  bool writes;
  trace::HostFreeWay way;
  char function[24];
  const void* caller;  // where the call stack of the record would begin
};

#define SS_FROM_LIBRARY __attribute__((visibility("default")))

/// Something is lent, or nothing is.
SS_FROM_LIBRARY void set_lent(bool lent);
/// What may hold a loan that the guest can free (freeable.h); at first, and with (nullptr, ~0): all memory.
SS_FROM_LIBRARY void set_freeable(const void* begin, std::size_t bytes);
/// [begin, begin + bytes) cannot be accessed until a wrapper reports a call that touches it. Whole pages.
SS_FROM_LIBRARY void guard(void* begin, std::size_t bytes);
/// As if the driver made all calls.
SS_FROM_LIBRARY void set_in_driver(bool in_driver);
SS_FROM_LIBRARY void set_host_frees(bool wanted);

SS_FROM_LIBRARY void forget_recorded();
SS_FROM_LIBRARY std::size_t recorded_count();
SS_FROM_LIBRARY const Recorded& recorded(std::size_t index);

/// write(), called from inside the library.
SS_FROM_LIBRARY long write_from_recorder(int descriptor, const void* bytes, std::size_t count);

SS_FROM_LIBRARY void note_stack_loan(const void* begin, std::size_t bytes, const void* callers_stack);
SS_FROM_LIBRARY void check_frames(const void* callers_stack);

}  // namespace streamsan::testing
