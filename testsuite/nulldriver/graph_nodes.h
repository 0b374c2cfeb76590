// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nodes of graphs do, from their parameters: the work that a launch of the graph runs.
//
// A captured node and one that was added by hand are the same. The parameters are kept as the driver keeps them,
// arguments of kernels by value, so that they can be asked for.
#pragma once

#include "testsuite/nulldriver/objects.h"

namespace streamsan::null {

/// Copies the arguments that kernelParams points to, and makes the work of it: none, unless the kernel has a body.
/// Needs the lock. Without a known layout a kernel with a body gives CUDA_ERROR_NOT_SUPPORTED, one without has no
/// arguments then.
CUresult plan_kernel(NodeParameters& node, Work* work);
/// The event is recorded when the work runs. Needs no lock.
Work plan_record(CUevent event);

/// The work of a node of this type; takes the lock itself where that is needed.
CUresult plan_node(CUgraphNodeType type, NodeParameters& node, Work* work);

// Conditional nodes, see graph_conditional.cpp. All need the lock.

/// Makes the bodies.
CUresult plan_conditional(const CUDA_CONDITIONAL_NODE_PARAMS& given, NodeParameters* node);
/// What a launch runs of the node; nullptr: nothing.
CUgraph body_that_runs(const NodeParameters& node);
/// Also in child graphs.
bool has_conditional(CUgraph graph);
/// The types of the nodes in the bodies, and in theirs.
std::vector<CUgraphNodeType> types_inside(CUgraphNode node);

}  // namespace streamsan::null
