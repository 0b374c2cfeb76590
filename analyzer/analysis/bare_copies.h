// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and fills that have no stream argument, in a function that is given a stream. bare_copies.cpp explains
// it.
#pragma once

#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// `function` is raw, not closed: it is reported where it is written.
std::vector<Hazard> bare_copies(const ir::Function& function, const ir::Program& program);

}  // namespace streamsan::analyzer
