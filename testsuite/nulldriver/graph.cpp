// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs as objects. Their nodes are in graph_nodes.cpp, executable graphs in graph_exec.cpp.

#include "testsuite/nulldriver/objects.h"

#include <algorithm>

namespace streamsan::null {

namespace {

/// The driver's way to return a list: the count alone if there is no room given.
CUresult list_nodes(const std::vector<CUgraphNode>& found, CUgraphNode* nodes, size_t* count) {
  if (nodes != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) nodes[i] = i < found.size() ? found[i] : nullptr;
  }
  if (nodes == nullptr || *count > found.size()) *count = found.size();
  return CUDA_SUCCESS;
}

template <class Wanted>
CUresult select(CUgraph graph, CUgraphNode* nodes, size_t* count, Wanted wanted) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().graphs.alive(graph)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> found;
  for (const auto& node : graph->nodes) {
    if (wanted(*node)) found.push_back(node.get());
  }
  return list_nodes(found, nodes, count);
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuGraphCreate(CUgraph* graph, unsigned flags) {
  SS_CALL(cuGraphCreate);
  if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  *graph = state().graphs.create();
  return CUDA_SUCCESS;
}

SS_EXPORT cuGraphDestroy(CUgraph graph) {
  SS_CALL(cuGraphDestroy);
  const Lock lock = lock_state();
  if (!state().graphs.alive(graph)) return CUDA_ERROR_INVALID_VALUE;
  destroy_graph(graph);
  return CUDA_SUCCESS;
}

SS_EXPORT cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  SS_CALL(cuGraphGetNodes);
  return select(graph, nodes, count, [](const CUgraphNode_st&) { return true; });
}

SS_EXPORT cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  SS_CALL(cuGraphGetRootNodes);
  return select(graph, nodes, count, [](const CUgraphNode_st& node) { return node.after.empty(); });
}

SS_EXPORT cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  SS_CALL(cuGraphNodeGetType);
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!is_live_node(node)) return CUDA_ERROR_INVALID_VALUE;
  *type = node->type;
  return CUDA_SUCCESS;
}

SS_EXPORT cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  SS_CALL(cuGraphInstantiateWithFlags);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  return instantiate(exec, graph, flags);
}

// Before CUDA 12 cuGraphInstantiate had places for an error node and a log, and the export kept that shape.
#undef cuGraphInstantiate
SS_EXPORT cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                                size_t log_bytes) {
  SS_CALL(cuGraphInstantiate_v2);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_bytes != 0) *log = '\0';
  const Lock lock = lock_state();
  return instantiate(exec, graph, 0);
}

SS_EXPORT cuGraphExecDestroy(CUgraphExec exec) {
  SS_CALL(cuGraphExecDestroy);
  const Lock lock = lock_state();
  if (!state().execs.alive(exec)) return CUDA_ERROR_INVALID_VALUE;
  state().execs.destroy(exec);
  return CUDA_SUCCESS;
}

SS_EXPORT cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  SS_CALL(cuGraphExecGetFlags);
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().execs.alive(exec)) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags;
  return CUDA_SUCCESS;
}
