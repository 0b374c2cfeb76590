// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel launch becomes a record: the pointers among its arguments, and a hash that tells equal launches apart from
// launches that differ in a scalar.
#pragma once

#include <cstdint>

#include "interposer/streams.h"

namespace streamsan::recorder {

struct LaunchCall {
  std::uint64_t function;    ///< CUfunction or CUkernel
  std::uint64_t extents[6];  ///< grid x y z, block x y z
  StreamArgument stream;
  void** params;  ///< kernelParams, may be null
  void** extra;   ///< packed arguments, may be null
  bool programmatic;
  std::uint16_t api;
  std::uint32_t stack;
};

/// After the launch succeeded, while the caller's arguments are still there.
void record_launch(const LaunchCall& call);

/// The launch had an attribute that records this event. It may complete before the kernel does; taken as recorded
/// behind the kernel, which may miss a race and invents none.
void record_event_of_launch(const LaunchCall& call, std::uint64_t event, std::uint64_t flags);

}  // namespace streamsan::recorder
