// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditional nodes, with the graphs that they may run: made with the node, owned by it, filled by the program.
//
// There is no device that could set a condition, so a launch runs what the default value of the handle says: of an IF
// node its first body or else its second one, of a SWITCH node the body of that number, and the body of a WHILE node
// once. As the real driver (measured, driver 580), no graph with such a node is cloned or becomes a child graph, and a
// body that has grown since no longer updates what was made of it. Not checked: which nodes a body may hold.

#include <algorithm>

#include "testsuite/nulldriver/graph_nodes.h"

namespace streamsan::null {
namespace {

/// By handle, from 1.
std::vector<unsigned>& conditions() {
  static auto& values = *new std::vector<unsigned>;
  return values;
}

}  // namespace

CUresult plan_conditional(const CUDA_CONDITIONAL_NODE_PARAMS& given, NodeParameters* node) {
  const unsigned most = given.type == CU_GRAPH_COND_TYPE_WHILE ? 1 : given.type == CU_GRAPH_COND_TYPE_IF ? 2 : ~0u;
  if (given.type > CU_GRAPH_COND_TYPE_SWITCH || given.size == 0 || given.size > most) return CUDA_ERROR_INVALID_VALUE;
  if (given.handle == 0 || given.handle > conditions().size()) return CUDA_ERROR_INVALID_VALUE;
  node->condition = {.handle = given.handle, .type = given.type};
  for (unsigned i = 0; i < given.size; ++i) node->bodies.push_back(state().graphs.create());
  return CUDA_SUCCESS;
}

CUgraph body_that_runs(const NodeParameters& node) {
  const unsigned value = conditions()[node.condition.handle - 1];
  const bool by_number = node.condition.type == CU_GRAPH_COND_TYPE_SWITCH;
  const std::size_t chosen = by_number ? value : value == 0 ? 1 : 0;
  return chosen < node.bodies.size() ? node.bodies[chosen] : nullptr;
}

bool has_conditional(CUgraph graph) {
  return std::any_of(graph->nodes.begin(), graph->nodes.end(), [](const auto& node) {
    return !node->parameters.bodies.empty() ||
           (node->parameters.child != nullptr && has_conditional(node->parameters.child));
  });
}

std::vector<CUgraphNodeType> types_inside(CUgraphNode node) {
  std::vector<CUgraphNodeType> out;
  for (CUgraph body : node->parameters.bodies) {
    for (const auto& each : body->nodes) {
      out.push_back(each->type);
      const std::vector<CUgraphNodeType> inside = types_inside(each.get());
      out.insert(out.end(), inside.begin(), inside.end());
    }
    out.push_back(CU_GRAPH_NODE_TYPE_CONDITIONAL);  // where it ends
  }
  return out;
}

}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph, CUcontext, unsigned value,
                                         unsigned flags) {
  SS_CALL(cuGraphConditionalHandleCreate);
  const Lock lock = lock_state();
  if (handle == nullptr || !state().graphs.alive(graph) || (flags & ~unsigned{CU_GRAPH_COND_ASSIGN_DEFAULT}) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  conditions().push_back((flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0 ? value : 0);
  *handle = conditions().size();
  return CUDA_SUCCESS;
}
