// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters that addresses are counted from.
//
// A word of the parameters is a BASE if each address that is made from it is the word, once, plus what does not depend on
// any base, and nothing else is made from it: no comparison, no product, no mask, no choice between it and something
// else. Then a launch with another value there touches the same bytes as far from that one. In most kernels the
// pointers are bases: of tensors that are new in each step, of a buffer that a loop goes through piece by piece.
//
// What a register holds is found without regard to the order of execution: nothing of a base, one base, or different
// things in different places. In the last case none of these words is a base.
#pragma once

#include <cstddef>
#include <vector>

#include "judge/ptx/kernel.h"

namespace streamsan::ptx {

/// By word, of so many words. `unused` is a register whose value nobody looks at.
std::vector<bool> bases_of(const Kernel& kernel, std::size_t words, int unused);

}  // namespace streamsan::ptx
