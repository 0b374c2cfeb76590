// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters that addresses are counted from.
//
// A word of the parameters is a BASE if each address that is made from it is the word, once, plus what does not depend
// on any base, and nothing else that matters is made from it: no comparison, no product, no mask, no choice between it
// and something else. Then a launch with another value there touches the same bytes as far from that one. In most
// kernels the pointers are bases: of tensors that are new in each step, of a buffer that a loop goes through piece by
// piece.
//
// What a register holds is found without regard to the order of execution: nothing of a base, one base, or different
// things in different places. In the last case none of these words is a base. facts.h answers another question, and
// more roughly: an origin has each word that a register may have to do with, a base is what it surely holds.
#pragma once

#include <cstddef>
#include <vector>

#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

inline constexpr int kNoBase = -1;

struct Bases {
  std::vector<bool> words;     ///< whether the word is one
  std::vector<int> registers;  ///< the base that the register's value is counted from, or kNoBase
};

/// The bases of a kernel with parameters of `words` words. The kernel is a slice (slice.h): what is not in it is not
/// asked for.
Bases bases_of(const Kernel& slice, std::size_t words);

}  // namespace streamsan::ptx
