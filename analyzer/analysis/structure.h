// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hazards that the shape of one function shows, without any state: synchronisation and allocation in loops, work that
// goes to the default stream although a stream is in scope. structure.cpp explains it.
#pragma once

#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// `function` is raw, not closed: what stands in a callee is reported once, in the callee.
std::vector<Hazard> structural_hazards(const ir::Function& function);

}  // namespace streamsan::analyzer
