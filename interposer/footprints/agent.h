// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The agent: a shared object of its own that measures which bytes a launch touches. This is the whole
// interface between the recorder and an agent.
//
// If footprints are to be measured, the recorder loads an agent once the driver has been initialised. It calls begin()
// and end() around a launch that is to be measured, on the launching thread. The recorder decides which launches those
// are, what happens with the bytes, and what the user reads (interposer/learning.h); the agent finds the bytes. There
// are two: libstreamsan_footprints.so (NVIDIA's Sanitizer API, needs a GPU) and the test suite's, which reads the
// answers from a file.
//
// Plain C, so that the two may be built by different compilers. An agent calls no wrapper of the recorder: it gets the
// driver's own entries from Host::driver_entry.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kStreamSanAgentVersion = 2 };
enum { kStreamSanLongestName = 2000 };

/// A run of bytes, touched in the ways of which a bit is set. Ranges of one result are sorted by `begin`; two with the
/// same bit do not overlap or touch.
typedef struct StreamSanRange {
  uint64_t begin;
  uint64_t end;
  uint32_t modes;  ///< StreamSanMode bits
  uint32_t reserved;
} StreamSanRange;

enum StreamSanMode {
  kStreamSanRead = 1,
  kStreamSanWrite = 2,
  kStreamSanAtomic = 4,  ///< by an atomic operation
};

/// How a measurement went.
enum StreamSanOutcome {
  kStreamSanMeasured = 0,
  kStreamSanIncomplete = 1,  ///< the ranges are true, but there may be more: `reason` says why
  kStreamSanBusy = 2,        ///< an earlier measurement is not over yet; nothing was done, try another launch
  kStreamSanLate = 3,        ///< the kernel did not end in time; the launch may still end; do not try it again
  kStreamSanTooLarge = 4,    ///< more bytes than fit the memory set aside
  kStreamSanFailed = 5,      ///< this kernel cannot be measured: `reason`
  kStreamSanDead = 6,        ///< nothing can be measured any more in this process: `reason`
};

typedef struct StreamSanMeasurement {
  enum StreamSanOutcome outcome;
  const char* reason;  ///< a clause, valid until the next call; null: there is nothing to say
  /// Valid until the next begin().
  const StreamSanRange* ranges;
  uint64_t count;
} StreamSanMeasurement;

typedef struct StreamSanHost {
  uint32_t version;
  /// The driver's own entry for an export name ("cuStreamQuery"), or null. Not one of the recorder's wrappers.
  void* (*driver_entry)(const char* name);
  const char* sanitizer_library;  ///< path of libsanitizer-public.so; null or empty: ask the loader
  const char* script;             ///< for the test suite's agent
  uint64_t most_bytes;            ///< of device memory the agent may take
  uint32_t patience_ms;           ///< how long end() may wait for a kernel
} StreamSanHost;

typedef struct StreamSanLaunch {
  void* function;                 ///< CUfunction or CUkernel
  int is_kernel;                  ///< it is a CUkernel
  void* stream;                   ///< CUstream as the driver is to be given it, defaults resolved
  const char* name;               ///< mangled, cut after kStreamSanLongestName bytes
  const uint64_t* pointer_words;  ///< see trace::pointer_word()
  uint32_t pointer_count;
} StreamSanLaunch;

typedef struct StreamSanAgent {
  uint32_t version;
  /// Gets ready. Returns null, or why nothing can be measured, as a clause.
  const char* (*start)(const StreamSanHost* host);
  /// Before the launch, on its thread. kStreamSanMeasured: go on; anything else: launch unmeasured, end() is not
  /// called. Only `outcome` and `reason` of the result count. From here to the return of end() the recorder lets no
  /// other thread launch anything, and no two threads are ever inside an agent.
  StreamSanMeasurement (*begin)(const StreamSanLaunch* launch);
  /// After the launch returned, with whether it succeeded.
  StreamSanMeasurement (*end)(int succeeded);
  /// Stands for the machine code of a kernel: equal in every process that runs equal code. 0: it is not known. May load
  /// the kernel, as its launch would. From any thread, at any time.
  uint64_t (*code)(void* function, int is_kernel, const char* name);
  /// Tries to undo what a kernel that did not end in time has kept; no launch is let through meanwhile. True: nothing
  /// is left to do. To be called now and then after a measurement without a result; until it has answered true, begin()
  /// says kStreamSanBusy.
  int (*settle)(uint32_t patience_ms);
  /// A context is about to die (null: it is not known which), or the code of some module. No launch is let through
  /// meanwhile.
  void (*context_going)(void* context);
  void (*module_going)(void);
  /// Runs in the child of a fork: everything is gone.
  void (*forget)(void);
} StreamSanAgent;

/// The one export of an agent.
const StreamSanAgent* streamsan_agent(void);

#ifdef __cplusplus
}
#endif
