// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function shows when its loops over elements are written out. See round_by_round.cpp.
#pragma once

#include "analyzer/analysis/engine.h"
#include "analyzer/ir/ir.h"
#include "analyzer/ir/written_out.h"

namespace streamsan::analyzer {

/// Adds to `verdict`, which is that of the function as it is, and to its steps.
void look_round_by_round(ir::WrittenOut written, const ir::Program& program, const EngineOptions& options,
                         const Roles& roles, Verdict& verdict);

}  // namespace streamsan::analyzer
