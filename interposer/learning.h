// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measuring launches, and what is known of each launch in the end.
//
//   measured  this launch itself was measured              a conflict is certain
//   learned   earlier launches like it were (knowledge.h)  disjoint launches stay silent; a conflict is possible until
//                                                          a measured launch decides
//   unknown   neither                                      its bytes are inferred from its pointers
//
// Which launches are measured, is the policy:
//
//   needed  those that use contended memory (contention.h), and once the judge has asked for their kernel; the time for
//           that is footprint_allowance and footprint_share percent of the run, a quarter of it for the judge's
//           questions alone. While half of footprint_allowance is not spent, one launch of each kernel with equal grid
//           and block besides, if the program has more than one stream: one that turns out to be in a race may be
//           launched only once, before the other side of the race is there
//   first   all that teach anything, until footprint_seconds are spent; as much again for the judge's questions
//   asked   only what the judge has asked for, in the time of "needed"
//
// Among all these, only launches that would teach anything (knowledge.h).
//
// Not measured at all: launches while any stream is being captured, launches that may poll memory of the host, and all
// others while one of those may run. Kernels that twice did not end in time are not tried again: they wait for
// something that comes after their launch. While one thread measures, the launches of all others wait (gate.h). When
// the GPU does not become idle in time, or launches do not leave the gate, nothing is tried for a while that grows from
// one second to ten.
//
// Instead of a measurement the answer of an earlier run is taken, if there is one (earlier.h).
//
// A failure costs precision and nothing else; the first few reasons are printed, one line each.
#pragma once

#include <cstdint>

#include "interposer/functions.h"
#include "interposer/knowledge.h"
#include "interposer/launch_arguments.h"
#include "interposer/pieces.h"
#include "interposer/streams.h"

namespace streamsan::recorder {

/// What a launch is given.
struct LaunchSubject {
  std::uint64_t handle;  ///< CUfunction or CUkernel
  const Function* function;
  StreamArgument stream;
  LaunchHashes hashes;
  const LaunchArguments* arguments;
  std::uint64_t shared_bytes;  ///< dynamic shared memory
  bool contends = false;       ///< it may meet operations that nothing orders (contention.h)
  bool may_poll = false;       ///< it may wait for the host (contention.h)
  bool promised = false;       ///< some of its bytes are known by the library's documents (promises.h)
};

/// What is known of a launch once it has been made.
struct LaunchKnowledge {
  std::uint32_t footprint = 0;  ///< id of a Footprint record; 0: none
  std::uint32_t promise = 0;    ///< likewise, of what the library's documents say (promises.h)
  bool measured = false;
  bool waits = false;  ///< a launch of the kernel did not end in time
  bool first = false;  ///< no earlier launch had this key: its arguments are worth a record
};

/// Once recording has begun: loads the agent, if footprints are to be measured.
void start_learning();
/// Launches may be measured: those who launch must ask begin_measuring() and mind the gate.
bool learning();

/// A stream is about to be captured; a capture has ended, or did not begin.
void capture_begins();
void capture_ended();
/// Is a capture under way, of any stream?
bool any_capture();

/// Before the launch, only if learning(). True: it is measured, finish_measuring() must follow.
bool begin_measuring(const LaunchSubject& subject);
/// After the launch that was measured. Writes the Footprint records.
LaunchKnowledge finish_measuring(const LaunchSubject& subject, bool succeeded);
/// After a launch that was not measured.
LaunchKnowledge known_of(const LaunchSubject& subject);

/// CUPTI has refused a profiler of the program's (profilers.h): says why, once, if that is on account of the agent.
void profiler_refused();

/// A launch failed. True: an earlier kernel had left something behind that may be the reason, and it is gone now.
bool settle_after_failure();
/// A context is about to die (0: some), or the code of some module.
void context_going(std::uint64_t context);
void module_going();

}  // namespace streamsan::recorder
