// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a kernel's code that decides which bytes of global memory it touches: a program slice, as Weiser calls
// it.
//
// Most of a kernel computes what it stores. Its addresses, its branches and its guards are made from few registers, and
// these from few of its parameters. evaluate() runs the slice alone, for two reasons:
//   * COST. What is computed for each step and copied at each branch grows with the registers. Random number generators
//     and unrolled arithmetic have thousands that no address depends on.
//   * EQUAL LAUNCHES. Two launches that differ only in parameters that the slice does not read (a learning rate, a
//     seed, the number of a step) touch the same bytes, and two that differ in bases (bases.h) touch the same bytes
//     elsewhere. One evaluation is enough: of the common() launch, whose bases are where no launch has them.
//
// What is kept: control flow; every access to global memory and everything that may be one; what lets other grids
// begin; and, until nothing changes any more, every instruction that may write a register that one of those is decided
// by. The order of execution is not asked for, so a register counts everywhere or nowhere. Arithmetic whose result
// nobody follows (Op::Pure) and loads are kept for their results, which are unknown, and their sources do not count.
//
// An operand that is a register which does not matter becomes Operand::Kind::Opaque, or an address without a register.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "judge/ptx/bases.h"
#include "judge/ptx/evaluate.h"
#include "judge/ptx/facts.h"
#include "judge/ptx/flow.h"
#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

struct Slice {
  Kernel kernel;  ///< what is kept, with registers of its own and the parameters of the whole
  Facts facts;    ///< of these registers and instructions
  Flow flow;
  std::vector<bool> reads;  ///< by byte of the parameters: whether the slice looks at it
  Bases bases;              ///< of this kernel

  /// The arguments of the launch that stands for all that have the same there, and the same grid and block: those with
  /// bases at addresses of their own, and nothing where the slice does not look.
  [[nodiscard]] std::vector<std::byte> common(std::span<const std::byte> arguments) const;
  /// What `touched`, of the common launch, is in the launch with these arguments. Nothing: it goes beyond what an
  /// address can be.
  [[nodiscard]] std::optional<Piece> placed(const Touched& touched, std::span<const std::byte> arguments) const;

 private:
  /// The word, if it is a base and an address.
  [[nodiscard]] std::optional<std::uint64_t> base(std::size_t word, std::span<const std::byte> arguments) const;
};

/// Nothing: the kernel was not understood.
std::optional<Slice> slice_of(const Kernel& kernel, const Facts& facts);

}  // namespace streamsan::ptx
