// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a kernel lets the one behind it in its stream begin, as far as its code shows. The code is read in judge/ptx
// (grid.h says how); what follows from the answer for the order is in dependents.h.
#pragma once

#include <cstdint>

namespace streamsan::ordering {

/// "Behind": in each thread that triggers, the trigger comes after.
enum class Trigger : std::uint8_t {
  Unknown,
  Never,      ///< so the next kernel begins when its blocks have ended
  Published,  ///< behind all that the thread touches, and behind a fence
  Last,       ///< behind all that the thread touches
  Early,      ///< the thread may touch memory after it
};

}  // namespace streamsan::ordering
