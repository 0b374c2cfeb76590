// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events that a class keeps, and that its methods do not use together. event_protocols.cpp explains it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// `functions`: those whose findings are wanted, by USR; all of the program are read.
std::vector<Hazard> event_protocols(const ir::Program& program, const std::vector<std::string>& functions);

}  // namespace streamsan::analyzer
