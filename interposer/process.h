// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recorder's life inside the guest process.
//
//   Cold --cuInit succeeds--> On --trouble--> Off
//     ^                        |
//     +------ fork, child -----+
//
// Nothing happens before the driver is initialised: a shell or an `ls` that inherits the preload opens no file and no
// driver. A forked child starts Cold again: it gets a trace of its own if it initialises CUDA itself (its parent's CUDA
// does not work there, and what its exit handlers call must not look like a program). Off is final: one line on stderr,
// every call forwarded as if we were not there. The guest is never stopped, and its heap is not used.
//
// All state is constant-initialised: our functions are called before our constructors run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/options.h"

namespace streamsan::recorder {

struct StackCache;

/// Per host thread. Trivially destructible and in the initial-exec TLS block, so that it can be touched at any time,
/// thread exit included.
struct ThreadState {
  std::uint32_t epoch;  ///< process epoch the fields below belong to
  std::uint16_t number;
  StackCache* stack_cache;
  const void* call_frame;        ///< of the wrapper of the driver call it is in; stale after a long jump out of one
  std::uint32_t calls;           ///< driver calls made so far, this one included
  std::uint32_t context_deaths;  ///< how many contexts had ended when `context` was asked for
  std::uint64_t context;         ///< current to it when that was last asked for
  std::uint64_t stream;          ///< the last one that was looked up, see streams.cpp
  std::uint64_t stream_known;    ///< what the look-up found
  std::uint64_t stream_check;    ///< whether stream_known belongs to stream, and is still valid
  const char* next_record;       ///< in the trace, unless other threads write as well
  std::uint32_t forward_stack;   ///< of the operation whose gradient it computes, see torch_forward.cpp; 0: none
};
extern constinit thread_local ThreadState t_thread __attribute__((tls_model("initial-exec")));

/// Where call_frame stands in ThreadState, for the entries of wrappers that are assembly (host/libc_call.h).
#define SS_CALL_FRAME_AT 16
static_assert(offsetof(ThreadState, call_frame) == SS_CALL_FRAME_AT);

/// Is code whose stack pointer is this inside of a driver call that came through us?
inline bool is_in_call(const void* stack_pointer) { return t_thread.call_frame && stack_pointer < t_thread.call_frame; }

namespace detail {
enum class Mode : std::uint8_t { Cold, Starting, On, Off };
extern constinit std::atomic<Mode> g_mode;
/// A word that is 1 in the process that opened the trace and 0 in every copy of it, also one made by _Fork() or
/// clone(), which run no fork handlers: the kernel wipes its page.
extern constinit std::atomic<const volatile std::uint32_t*> g_same_process;
}  // namespace detail

/// True while records are to be written.
inline bool recording() {
  return detail::g_mode.load(std::memory_order_acquire) == detail::Mode::On &&
         *detail::g_same_process.load(std::memory_order_relaxed) != 0;
}

/// cuInit has succeeded: opens the trace, unless that was done or has failed before. Returns recording().
bool start_recording();

/// cuInit has failed, with this result: the launcher is to know why there is no trace.
void note_failed_start(int result);

/// The path of the trace that is being recorded. Empty: none is.
const char* trace_path();
/// Does somebody read the trace while it is written, or is about to?
bool is_judged_live();

/// A call or a look-up came through us: CUDA is observed, whatever becomes of the trace.
void note_observed();

/// Switches recording off for good and says why, once; silently if `why` is null. `error`: errno value or 0.
void disable_recording(const char* why, int error);

/// Has the program come to its end? Known only with the option syncs: what was registered by atexit() after cuInit has
/// run by then, what was registered before it has not.
bool is_exiting();

/// Counts forks: caches filled before a fork do not hold after it.
std::uint32_t process_epoch();

/// Small number of the calling thread, from 1.
std::uint16_t thread_number();

const Options& options();

/// One line on stderr, "streamsan: " in front, process id behind it. Uses write(2) only.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

/// As say(), and into the trace, where the report repeats it.
void warn(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace streamsan::recorder
