// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths that cannot be, taken out of a closed function. paths.cpp explains it.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// Copies blocks where a constant, a flag or the first round of a loop decides a later branch, and leaves out the
/// branches that are decided. Op::origin of each copy is the number of the op it was made from. A function in which
/// nothing is decided stays as it is.
void tell_paths_apart(Function& function);

}  // namespace streamsan::analyzer::ir
