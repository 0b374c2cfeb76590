// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The agent of the times: a shared object of its own that takes from CUPTI when operations ran on the GPU. This is the
// whole interface between the recorder and it; plain C, like footprints/agent.h.
//
// The recorder calls begin() and end() around the real call of each operation, on the calling thread, and passes to
// end() which record the call became. The agent finds out what CUPTI calls the operation, and when its times are known
// (much later, on a thread of CUPTI's) it hands them to deliver().
//
// Why a library of its own: the recorder is libc only and has no code that may block; and where CUPTI breaks, nothing
// but times is lost. CUPTI itself is loaded at run time, and no header of it is needed to build this.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kStreamSanTimingsVersion = 1 };
#define STREAMSAN_NO_RECORD UINT64_MAX

/// An operation has run: start and end, CLOCK_MONOTONIC nanoseconds. A call that made several operations (a graph
/// without times of its own) may give several, of one position: the call ran from the first start to the last end.
typedef struct StreamSanTime {
  uint64_t position;  ///< as it was given to end()
  uint64_t start;
  uint64_t end;
} StreamSanTime;

typedef struct StreamSanTimingsHost {
  uint32_t version;
  const char* cupti_library;  ///< path of libcupti.so; null or empty: ask the loader
  /// May be called by any thread, also inside of begin(), end() and flush(). Calls nothing of the agent's.
  void (*deliver)(const StreamSanTime* times, uint64_t count);
} StreamSanTimingsHost;

/// What became of the operations so far.
typedef struct StreamSanTimingsCounts {
  uint64_t calls;      ///< that CUPTI has seen between begin() and end()
  uint64_t delivered;  ///< times
  uint64_t unclaimed;  ///< times of operations that no call between begin() and end() had made
  uint64_t untimed;    ///< records that say that the times are not known
  uint64_t dropped;    ///< by CUPTI, for want of memory
} StreamSanTimingsCounts;

typedef struct StreamSanTimings {
  uint32_t version;
  /// Gets ready. Returns null, or why there will be no times, as a clause.
  const char* (*start)(const StreamSanTimingsHost* host);
  /// Before the real call, on its thread, and after it.
  void (*begin)(void);
  void (*end)(uint64_t position);  ///< STREAMSAN_NO_RECORD: the call became none
  /// Has everything delivered that is known by now; nothing is taken after it. False: that was not done in time.
  int (*finish)(uint32_t patience_ms);
  void (*counts)(StreamSanTimingsCounts* out);
  /// Runs in the child of a fork: CUPTI works there no more.
  void (*forget)(void);
} StreamSanTimings;

/// The one export.
const StreamSanTimings* streamsan_timings(void);

#ifdef __cplusplus
}
#endif
