// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Can a kernel wait for what somebody else writes? One that takes long and cannot is merely slow.
//
// A kernel that waits goes round in a LOOP THAT MEMORY DECIDES, and looks again in each round:
//   * on a cycle of the control flow, a branch depends on a value that was loaded, and
//   * on the same cycle there is an access that sees what others have written by now: atomic, volatile, relaxed or
//     acquire, or past the nearest cache; or an ordinary load beside something that makes the thread look again: a
//     fence, a barrier, a pause.
// A list that is walked, a search, rounds until a value converges: those are ordinary loads, which the compiler may
// make once and for all.
//
// The answer errs towards "it can": a work queue counts as waiting. So does all that is not understood: calls, branches
// to unknown places, unknown instructions in a loop.
//
// Does it wait for ANOTHER KERNEL OR THE HOST? One that waits for its own blocks alone (a barrier of the grid, a scan
// that looks back) has the scope of its GPU. So here the access on the cycle must be a load that says it is of system
// scope, and what is not understood does not count.
#pragma once

#include "judge/ptx/facts.h"
#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

struct Waiting {
  bool can_wait = true;
  bool for_others = false;  ///< for another kernel or the host
};
/// `facts`: of the kernel, with the origins of its registers.
Waiting waiting_of(const Kernel& kernel, const Facts& facts);

}  // namespace streamsan::ptx
