// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workspaces that are replaced while a graph keeps the old one. workspaces.cpp explains it.
#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/ir/inline.h"

namespace streamsan::analyzer {

/// In methods of the program's classes; `functions`: those that are reported, by USR.
std::vector<Hazard> launches_on_replaced_memory(const ir::Program& program, const std::vector<std::string>& functions,
                                                ir::Inliner& inliner);

}  // namespace streamsan::analyzer
