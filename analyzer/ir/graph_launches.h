// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the launch of a graph does, where the graph was captured in sight. See graph_launches.cpp.
//
// In the IR the graph that a capture makes is the target of the Fresh right behind the CaptureEnd, and an executable
// graph that of a Fresh whose source is the graph that it is made of. An Escape with Work::GraphLaunch says that the
// graph which is its source does something else from now on.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// Where a function of the program tells an executable graph something new, no graph is known by its capture.
void forget_updated_graphs(Program& program);

/// Gives the launches of a graph that a closed function captures the accesses of what was captured.
void expand_graph_launches(Function& function);

}  // namespace streamsan::analyzer::ir
