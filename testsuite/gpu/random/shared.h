// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What host and device share (pinned memory that is mapped): the gate and the marks.
//
// A gate never hangs. It opens when the host says so, and by itself after two seconds; the program is then not valid
// evidence, and says so.
#pragma once

#include "testsuite/gpu/random/program.h"

namespace streamsan::lab {

struct Gate {
  volatile unsigned open;
  volatile unsigned started;    ///< the held operation has begun
  volatile unsigned timed_out;  ///< it went on by itself
};

struct Marks {
  volatile unsigned begun;
  volatile unsigned waited;
};

/// Everything that is looked at while the held operation is in flight.
struct Shared {
  Gate gate;
  Marks marks[kCells];
  volatile unsigned written[kFlags];
  volatile unsigned slots[kCells];  ///< what peek() found in device memory
  volatile unsigned peeked;         ///< the number of the last peek()
};

inline constexpr unsigned kHeld = 1;
inline constexpr unsigned kWaits = 2;
inline constexpr unsigned kTriggersFirst = 4;
inline constexpr unsigned kTriggersAfterWait = 8;

}  // namespace streamsan::lab
