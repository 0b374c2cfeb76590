// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the launch of a graph does, where the graph was captured in sight. See graph_launches.cpp.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// Gives the launches of a graph that a closed function captures the accesses of what was captured.
void expand_graph_launches(Function& function);

}  // namespace streamsan::analyzer::ir
