// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a kernel's code that decides which bytes of global memory it touches: a program slice, as Weiser calls it.
//
// Most of a kernel computes what it stores. Its addresses, its branches and its guards are made from few registers, and
// these from few of its parameters. evaluate() runs the slice alone, for two reasons:
//   * COST. What is computed for each step and copied at each branch grows with the registers. Random number generators
//     and unrolled arithmetic have thousands that no address depends on.
//   * EQUAL LAUNCHES. Two launches that differ only in parameters that the slice does not read (a learning rate, a
//     seed, the number of a step) touch the same bytes, and need one evaluation: key_of().
//
// What is kept: control flow; every access to global memory and everything that may be one; what lets other grids begin;
// and, until nothing changes any more, every instruction that may write a register that one of those is decided by. The
// order of execution is not asked for, so a register counts everywhere or nowhere. Arithmetic whose result nobody follows
// (Op::Pure) and loads are kept for their results, which are unknown, and their sources do not count.
//
// All other registers become one, which is written and never looked at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/ptx/evaluate.h"
#include "judge/ptx/facts.h"
#include "judge/ptx/flow.h"
#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

struct Slice {
  Kernel
      kernel;   ///< the instructions that are kept, with registers of their own; the parameters are those of the whole
  Facts facts;  ///< of these registers and instructions
  Flow flow;
  std::vector<bool> reads;  ///< by byte of the parameters: whether the slice looks at it

  /// Launches with equal keys touch the same bytes, if their arguments are of one length.
  [[nodiscard]] std::string key_of(const Launch& launch) const;
};

/// Nothing: the kernel was not understood.
std::optional<Slice> slice_of(const Kernel& kernel, const Facts& facts);

}  // namespace streamsan::ptx
