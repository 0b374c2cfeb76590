// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of global memory that one launch of a kernel touches, as far as they can be proved from its code.
//
// THE NAIVE SPECIFICATION (tests/interpreter.* is this, literally, and is compared with the fast one): run the code for
// every thread, with any contents of memory, and note every access. Bytes that are touched whatever memory contains are
// exact.
//
// THE FAST ONE runs what decides about addresses (slice.h), once for a whole box of threads (affine.h), with registers
// that hold affine forms of the thread's coordinates, or nothing known. Grid, block and arguments are numbers, so loops
// run as often as they run and index arithmetic wraps as it wraps. Where threads of the box would do different things
// (a guard, a wrap, a quotient) the box is cut, and each part goes on alone. A branch on what was read from memory goes
// both ways: what is touched there may be touched, and is never exact. The ways meet where all of them must (flow.h);
// registers that differ there are unknown. A loop that such a branch closes runs once, with everything it changes
// unknown.
//
// A LOOP OF WHICH ONLY REGISTERS ARE SEEN need not run turn by turn (turns.h). It is one range of instructions with one
// jump back, at its end, and one way out, which each turn comes to. In it are arithmetic, branches forward, memory that
// is not global, and loops of the same kind that surely end, by numbers that the outer loop does not change. It must be
// decided by a comparison of a constant bound with a register to which each turn adds the same. The distance of the two
// says how many turns all threads of the box still make. These are left out, all but one:
//   * A register to which each turn adds the same becomes what it is after so many turns.
//   * Any other register that the loop may write becomes unknown. The turns that still run make known again what does
//     not depend on turns before them. Where something would stay lost, only a long loop is cut short.
// Nothing is assumed about the end of the loop: turns that surely stay in it are left out, and the rest runs. A loop
// that never ends uses up its steps, and nothing is proved of the kernel. One that jumps over its bound goes on.
// Threads may make different numbers of turns: those of the first to leave are left out, then the box is cut. Where the
// numbers are far apart, and all threads surely reach the bound before the register wraps, all leave the loop at once,
// and what it may write is unknown.
//
// WHAT IS NOT FOLLOWED, and makes an address or a guard unknown: contents of memory of any space, floating point,
// products of two varying numbers, bit tricks beyond masks and shifts, the number of the lane or warp, results of
// calls. After a call of an unknown function, the rest may not run (the callee may exit).
//
// A loop that polls (memory decides when it ends, and it reads volatile or atomically) may wait for other kernels or
// the host. That is order nobody sees, so nothing is proved of a kernel that runs into one.
//
// Two assumptions: the kernel is not stopped by a trap half-way, and its code on the GPU is made from this PTX.
//
// Cost: bounded by Limits; a launch that needs more is not proved at all. A step is an instruction for one box, or so
// many registers that are copied where a box is cut or threads part.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "judge/ptx/bases.h"
#include "judge/ptx/byte_set.h"
#include "judge/ptx/facts.h"
#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::span<const std::byte> arguments;  ///< each parameter at its offset
};

struct Limits {
  std::uint64_t steps = 300'000;
  std::size_t boxes = 2'048;         ///< at one time
  std::size_t pieces = 64;           ///< of one mode in the result
  std::uint64_t loop_steps = 4'000;  ///< left out of a loop only if there are more, or if that loses nothing
  std::uint64_t turns_apart = 512;   ///< threads of a box that are more apart leave a loop at once
};

enum class Mode : std::uint8_t { Read, Write, Atomic };

struct Touched {
  Piece bytes;
  Mode mode = Mode::Read;
  bool exact = true;   ///< false: some of these bytes, perhaps none
  bool early = false;  ///< before the kernel waits for the grid in front (grid.h)
  int base = kNoBase;  ///< the word of the parameters that its address is counted from (bases.h)
};

struct Result {
  bool evaluated = false;   ///< false: limits or an unreadable kernel; nothing else is filled
  std::uint64_t steps = 0;  ///< what it cost
  bool complete = false;    ///< all accesses to global memory are in `touched` and exact
  bool triggers = false;    ///< it surely lets the grid behind begin, before its end
  std::vector<Touched> touched;
  /// For each parameter word: all accesses through it are in `touched` and exact.
  std::vector<bool> settled;
};

struct Slice;
Result evaluate(const Slice& slice, const Launch& launch, const Limits& limits = {});
/// For a kernel that is evaluated once: makes its slice first.
Result evaluate(const Kernel& kernel, const Facts& facts, const Launch& launch, const Limits& limits = {});

}  // namespace streamsan::ptx
