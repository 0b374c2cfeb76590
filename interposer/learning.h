// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which launches are measured, and what is known of those that are not.
//
// A launch is described by three hashes. Its KEY covers everything it is given: kernel, grid, block and all argument
// bytes. Its SHAPE leaves the pointers out, its FAMILY all arguments (an optimizer's kernel is given another step
// number each time). A footprint is relative to the pointers, so what one launch showed can serve others:
//
//   measured  this launch itself was measured                        the judge may convict on it
//   learned   its key was measured before, always with one result;   disjoint launches stay silent, a conflict is
//             or its shape was, with different pointers, or its        possible until a measured launch decides
//             family, with different arguments, and one result
//   unknown   else: its pointers tell what they can (inferred)
//
// Under the policy "first" a launch is measured if its key was measured less than twice (the second time shows whether
// the kernel depends on data it reads), or differed before, unless its family has shown one result often enough; at
// most footprint_launches times for each shape, and until footprint_seconds were spent in all. Under any policy a
// launch is measured when the judge has asked for its kernel; as much time again is set aside for that.
//
// Not measured at all: launches while any stream is being captured. Kernels that twice did not end in time are not
// tried again: they wait for something that comes after their launch.
//
// Everything that goes wrong costs precision and nothing else; the first few reasons are said, one line each.
#pragma once

#include <cstdint>

#include "interposer/functions.h"
#include "interposer/streams.h"

namespace streamsan::recorder {

/// A kernel with more pointers than this loses the rest: a race may be missed.
inline constexpr unsigned kMostLaunchPointers = 256;

/// What a launch is given.
struct LaunchSubject {
  std::uint64_t handle;  ///< CUfunction or CUkernel
  const Function* function;
  StreamArgument stream;
  std::uint64_t key;           ///< hash, see above
  std::uint64_t shape;         ///< hash, see above
  std::uint64_t family;        ///< hash, see above
  const std::uint64_t* words;  ///< trace::pointer_word() of each pointer
  unsigned count;
};

/// What is known of a launch once it has been made.
struct LaunchKnowledge {
  std::uint32_t footprint = 0;  ///< id of a Footprint record; 0: none
  bool measured = false;
  bool waits = false;  ///< a launch of the kernel did not end in time
  bool first = false;  ///< no footprint, and no earlier launch had this key: its arguments are worth a record
};

/// Once recording has begun: loads the agent, if footprints are to be measured.
void start_learning();
/// Launches may be measured: know() wants to be asked before the launch, too.
bool learning();

/// A stream begins or ends to be captured.
void capture_began();
void capture_ended();

/// Before the launch, only if learning(). True: it is measured, finish_measuring() must follow.
bool begin_measuring(const LaunchSubject& subject);
/// After the launch that was measured. Writes the Footprint records.
LaunchKnowledge finish_measuring(const LaunchSubject& subject, bool succeeded);
/// After a launch that was not measured.
LaunchKnowledge known_of(const LaunchSubject& subject);

/// In the child of a fork.
void forget_learning();

}  // namespace streamsan::recorder
