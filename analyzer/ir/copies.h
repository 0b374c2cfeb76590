// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects that are only passed through.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// Copies of objects are made part by part, and the parts are those that the code names. A function that returns what
/// another one has returned to it names none: gives each target of a copy the parts of its source, so that nothing is
/// lost on the way. For closed functions.
void complete_copies(Function& function);

}  // namespace streamsan::analyzer::ir
