// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs for the engine's tests, in a few words each. One statement on a line; the number of the line is the op's
// place in what the test expects.
//
//   param s0                  a parameter. Other names are locals. The first letter tells the type: s stream, e event,
//                             d, h, t pointer, i, n integer. `name[i]` is an element of the local array `name`,
//                             `this.s_` a field, `*p` what p points to, `d+i` a pointer with an offset in bytes,
//                             `d+i*n@4` in steps of four. In offsets and lengths the names are letters
//   stream s1 nonblocking     create; kind blocking (if none is given) or nonblocking or unknown
//   event e1 notiming
//   alloc d pinned            device (if none is given), async S, managed, pinned, pageable, registered
//   launch K S w:d r:x        a kernel with accesses r w rw a (atomic) ? ; args:n,4 its scalars
//   send S r:d                communication, which a group holds back: group, endgroup
//   copy S DST SRC d2h sync 64   direction, form and size may be left out
//   fill S DST sync           hostfn S r:h
//   record E S; wait S E; sync S; syncevent E; device; query S; queryevent E; elapsed E1 E2
//   free d; freehost h; freeasync d S; delete h; end h; destroy s1
//   tensor t S; release t S; keep t S
//   host w:h                  a host access
//   setdevice 0               or of an unknown number; swapmode &i; libsync S: a library waits for its results
//   capture S relaxed; endcapture S; escape X; escape &X; maysync
//   assign a b; assign a &b; assign a null; fresh i
//   A: goto B C               starts block A; ends a block. `loop A:` is a loop's head
//   for i B X                 ends a loop's head: to B while `i < 4`, else to X
//
// Stream 0 is the default stream, `legacy` and `ptds` the others. Handles that a script makes are certainly different,
// parameters are not.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/analysis/engine.h"

namespace streamsan::analyzer::testing {

struct Script {
  ir::Function function;
  ir::Program program;
};
Script read(std::string_view text);

/// What analyze() finds, one hazard on a line: "cross-stream-race definite 5<3 event-not-waited-for". reported: the
/// definite and latent ones of checks for correctness. reported_all: all.
std::string reported(std::string_view text);
std::string reported(const Script& script);
std::string reported_all(std::string_view text);

}  // namespace streamsan::analyzer::testing
