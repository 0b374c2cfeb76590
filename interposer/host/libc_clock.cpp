// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of libc that read a clock. clock_reads.h says what they are for.
//
// C++'s std::chrono and Python's time.perf_counter() come through clock_gettime(). Our own reads and the driver's come
// here, too, but are not recorded.
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include <cerrno>
#include <cstring>

#include "interposer/host/clock_reads.h"
#include "interposer/host/libc_call.h"
#include "interposer/host/raw_syscall.h"
#include "interposer/keep_errno.h"
#include "interposer/stack.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

// A fork keeps t_has_waited: only a thread that records looks at it, and its first call clears it.
constinit thread_local std::uint32_t detail::t_has_waited __attribute__((tls_model("initial-exec"))) = 0;

void clock_was_read(const char* function, const void* frame) {
  // The driver reads clocks, too, in calls that leave the wait the last one.
  if (is_in_call(frame)) return;
  // First: what follows may be interrupted by a signal handler that reads a clock.
  forget_wait();
  if (!recording()) return;
  const KeepErrno keep;
  using Words = trace::Words<trace::Kind::ClockRead>;
  write_text<trace::Kind::ClockRead>({}, &Words::name_bytes, function, std::strlen(function), nullptr, 0,
                                     capture_stack(frame));
}

void HostCall::reads_clock() const {
  if (!is_quiet()) clock_was_read(function_, frame_);
}

}  // namespace streamsan::recorder

namespace {

template <class Function>
struct ClockRow;
template <class Result, class... Parameters>
struct ClockRow<Result (*)(Parameters...)> {
  /// The record comes after the reading: making it takes time, which is not the program's.
  static Result instead(const streamsan::recorder::HostCall& call, Result (*next)(Parameters...),
                        Parameters... parameters) {
    Result result = next(parameters...);
    call.reads_clock();
    return result;
  }
};

/// What a name has beyond the others.
template <class Name>
struct ClockExtra {};
struct NameOf_clock_gettime;
template <>
struct ClockExtra<NameOf_clock_gettime> {
  /// The allocator of AddressSanitizer asks for the time when glibc, in a look-up, frees an old text of dlerror().
  static int while_finding(clockid_t clock, timespec* time) {
    const long result = streamsan::recorder::raw_syscall(SYS_clock_gettime, clock, reinterpret_cast<long>(time), 0, 0);
    if (result < 0) errno = static_cast<int>(-result);
    return result < 0 ? -1 : 0;
  }
};

}  // namespace

#define SS_CLOCK(name)                                                          \
  namespace {                                                                   \
  struct NameOf_##name;                                                         \
  struct Row_##name : ClockRow<SS_SIGNATURE(name)>, ClockExtra<NameOf_##name> { \
    static constexpr const char* kName = #name;                                 \
  };                                                                            \
  }                                                                             \
  SS_LIBC_EXPORT_IF(SS_LIBC_IF_THREAD(12t_has_waited), name, SS_SIGNATURE(name), Row_##name)

SS_CLOCK(clock);
SS_CLOCK(clock_gettime);
SS_CLOCK(gettimeofday);
SS_CLOCK(time);
SS_CLOCK(times);
SS_CLOCK(timespec_get);
