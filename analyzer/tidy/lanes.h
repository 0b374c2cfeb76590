// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a translation unit is worth following step by step.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// Is there anything that could run beside something else: a stream of the program's, one that waits for another (a
/// static variable's own beginning is not seen), a copy that is not waited for, or work on memory that the host uses,
/// too?
bool has_lanes(const ir::Program& program);

}  // namespace streamsan::analyzer
