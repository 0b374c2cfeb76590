// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analysis of a function whose loops over elements are written out. round_by_round.cpp explains it.
#pragma once

#include "analyzer/analysis/engine.h"
#include "analyzer/ir/ir.h"
#include "analyzer/ir/written_out.h"

namespace streamsan::analyzer {

/// Adds findings and steps to `verdict`, the result for the function as it is.
void look_round_by_round(ir::WrittenOut written, const ir::Program& program, const EngineOptions& options,
                         const Roles& roles, Verdict& verdict);

}  // namespace streamsan::analyzer
