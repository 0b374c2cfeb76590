// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a kernel depends on the grid in front of it in its stream, and the grid behind on it (ordering/dependents.h):
// whether and where it waits for the one in front (griddepcontrol.wait), which instructions run before that, and where
// it lets the one behind begin (griddepcontrol.launch_dependents).
//
// One pass over the control flow, of all threads alike. For each instruction it is known of the paths that lead to it
// whether some, all or none of them have waited; an instruction is EARLY if none has. That is certain of the thread
// itself, and not enough: often one thread waits and the others wait for it at a barrier. So behind a barrier
//   * that some paths reach having waited and others not, all have waited;
//   * if there are threads that never wait by themselves and pass a barrier, all have waited: which barrier is meant to
//     hold them back is not known.
// A call that is not known may wait, and so ends what is early. Everything that is doubtful counts as late, where no
// conflict is found: a race may be missed, none is invented.
//
// WHEN IT TRIGGERS. The grid behind may begin as soon as one thread of each block has executed the instruction. Early,
// if the same thread may touch memory behind it. A kernel that has published something by a fence before may have
// published just what the next one reads: if it touches memory behind its trigger all the same, nothing is concluded.
#pragma once

#include <vector>

#include "judge/ptx/kernel.h"
#include "ordering/trigger.h"

namespace streamsan::ptx {

struct Grid {
  bool waits = false;        ///< some thread waits, or may
  bool waits_first = false;  ///< before it triggers, or may
  bool always = false;       ///< every thread triggers
  ordering::Trigger trigger = ordering::Trigger::Never;
  std::vector<bool> early;  ///< by instruction
};

Grid grid_of(const Kernel& kernel);

}  // namespace streamsan::ptx
