// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The child of a fork: it has one thread, and everything else twice. State about the parent's trace, its driver and its
// threads is wrong here, so each module with such state has a function in_child::..., beside that state, which
// makes it what it was before recording began; fork.def has their order. A function that is named there and is not
// written does not link.
//
// Nobody else runs meanwhile. Locks may be held by threads that do not exist in the child: nobody unlocks them, they
// are initialised anew.
#pragma once

namespace streamsan::recorder::in_child {

#define SS_IN_CHILD(step) void step();
#include "interposer/fork.def"
#undef SS_IN_CHILD

/// All of it.
inline void renew() {
#define SS_IN_CHILD(step) step();
#include "interposer/fork.def"
#undef SS_IN_CHILD
}

}  // namespace streamsan::recorder::in_child
