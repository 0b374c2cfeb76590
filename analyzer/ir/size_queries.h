// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library calls that only ask how much memory they would need.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// CUB's algorithms are called twice: with no memory, when they do nothing but tell a size, and with it. A call with
/// the literal null is seen by the lowering; this drops those whose variable is null on every way to them.
void drop_size_queries(Program& program);

}  // namespace streamsan::analyzer::ir
