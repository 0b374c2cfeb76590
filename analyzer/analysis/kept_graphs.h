// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs that are kept in a field and launched by another function. See kept_graphs.cpp.
#pragma once

#include <vector>

#include "analyzer/analysis/hazard.h"
#include "analyzer/ir/inline.h"

namespace streamsan::analyzer {

/// `captured`: hazards of memory that is freed while a graph keeps it (CheckCase::Captured), of functions of the
/// program. Returns those where another function launches the graph later, reported at the launch.
std::vector<Hazard> launches_after_free(const std::vector<Hazard>& captured, const ir::Program& program,
                                        ir::Inliner& inliner);

}  // namespace streamsan::analyzer
