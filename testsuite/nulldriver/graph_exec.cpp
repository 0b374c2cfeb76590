// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable graphs: made of a graph, and updated, as a whole or node by node. A whole update is accepted if both
// graphs have as many nodes, of the same types in the same order.

#include <algorithm>
#include <utility>

#include "testsuite/nulldriver/graph_nodes.h"

namespace streamsan::null {
namespace {

/// The nodes in an order that their edges allow: those made earlier first.
std::vector<CUgraphNode> sorted(CUgraph graph) {
  std::vector<CUgraphNode> out;
  std::set<CUgraphNode> done;
  while (out.size() < graph->nodes.size()) {
    const std::size_t before = out.size();
    for (const auto& node : graph->nodes) {
      const bool ready =
          std::all_of(node->after.begin(), node->after.end(), [&](auto n) { return done.count(n) != 0; });
      if (ready && done.insert(node.get()).second) out.push_back(node.get());
    }
    if (out.size() == before) return {};  // a cycle
  }
  return out;
}

Work work_of(CUgraphNode node) {
  const bool conditional = node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
  if (node->type != CU_GRAPH_NODE_TYPE_GRAPH && !conditional) return node->work;
  CUgraph graph = conditional ? body_that_runs(node->parameters) : node->parameters.child;
  std::vector<Work> works;
  if (graph != nullptr) {
    for (CUgraphNode inside : sorted(graph)) works.push_back(work_of(inside));
  }
  return [works] {
    for (const Work& work : works) {
      if (work) work();
    }
  };
}

bool alike(CUgraph a, const CUgraphExec_st& b) {
  const std::vector<CUgraphNode> nodes = sorted(a);
  return nodes.size() == b.nodes.size() &&
         std::equal(nodes.begin(), nodes.end(), b.nodes.begin(),
                    [](CUgraphNode x, auto& y) { return x->type == y.type && types_inside(x) == y.inside; });
}

CUresult update(CUgraphExec exec, CUgraph graph) {
  if (!state().execs.alive(exec) || !state().graphs.alive(graph)) return CUDA_ERROR_INVALID_VALUE;
  if (!alike(graph, *exec)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  const std::vector<CUgraphNode> nodes = sorted(graph);
  for (std::size_t i = 0; i < nodes.size(); ++i) exec->nodes[i].work = work_of(nodes[i]);
  return CUDA_SUCCESS;
}

/// Calls change(node of the executable graph).
template <class Change>
CUresult change_node(CUgraphExec exec, CUgraphNode made_of, Change change) {
  const Lock lock = lock_state();
  if (!state().execs.alive(exec)) return CUDA_ERROR_INVALID_VALUE;
  for (CUgraphExec_st::Node& node : exec->nodes) {
    if (node.made_of == made_of) return change(node);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult set_node(CUgraphExec exec, CUgraphNode made_of, CUgraphNodeType type, NodeParameters given) {
  Work work;
  if (const CUresult refused = plan_node(type, given, &work); refused != CUDA_SUCCESS) return refused;
  return change_node(exec, made_of, [&](CUgraphExec_st::Node& node) {
    if (node.type != type) return CUDA_ERROR_INVALID_VALUE;
    node.work = std::move(work);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUgraph clone_graph(CUgraph graph) {
  CUgraph clone = state().graphs.create();
  std::map<CUgraphNode, CUgraphNode> copies;
  for (const auto& node : graph->nodes) {
    NodeParameters parameters = node->parameters;
    if (parameters.child != nullptr) parameters.child = clone_graph(parameters.child);
    CUgraphNode copy = add_node(clone, node->type, {}, node->work, std::move(parameters));
    copy->original = node.get();
    copies[node.get()] = copy;
  }
  for (const auto& node : graph->nodes) {
    for (CUgraphNode before : node->after) copies[node.get()]->after.push_back(copies[before]);
  }
  return clone;
}

void destroy_graph(CUgraph graph) {
  for (const auto& node : graph->nodes) {
    if (node->parameters.child != nullptr) destroy_graph(node->parameters.child);
    for (CUgraph body : node->parameters.bodies) destroy_graph(body);
  }
  state().graphs.destroy(graph);
}

CUresult instantiate(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  if (!state().graphs.alive(graph)) return CUDA_ERROR_INVALID_VALUE;
  const std::vector<CUgraphNode> nodes = sorted(graph);
  if (nodes.size() != graph->nodes.size()) return CUDA_ERROR_INVALID_VALUE;
  CUgraphExec exec = state().execs.create();
  exec->flags = flags;
  for (CUgraphNode node : nodes) exec->nodes.push_back({node, node->type, work_of(node), true, types_inside(node)});
  *out = exec;
  return CUDA_SUCCESS;
}

}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuGraphClone(CUgraph* out, CUgraph graph) {
  SS_CALL(cuGraphClone);
  const Lock lock = lock_state();
  if (out == nullptr || !state().graphs.alive(graph)) return CUDA_ERROR_INVALID_VALUE;
  if (has_conditional(graph)) return CUDA_ERROR_NOT_SUPPORTED;
  *out = clone_graph(graph);
  return CUDA_SUCCESS;
}

SS_EXPORT cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph clone) {
  SS_CALL(cuGraphNodeFindInClone);
  const Lock lock = lock_state();
  if (out == nullptr || !state().graphs.alive(clone)) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& node : clone->nodes) {
    if (node->original != original) continue;
    *out = node.get();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

SS_EXPORT cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  SS_CALL(cuGraphExecUpdate);
  const Lock lock = lock_state();
  const CUresult result = update(exec, graph);
  if (info != nullptr) {
    *info = {};
    info->result = result == CUDA_SUCCESS ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  }
  return result;
}

SS_EXPORT cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* given) {
  SS_CALL(cuGraphExecKernelNodeSetParams);
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeParameters parameters;
  parameters.kernel = *given;
  return set_node(exec, node, CU_GRAPH_NODE_TYPE_KERNEL, std::move(parameters));
}

SS_EXPORT cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* given, CUcontext) {
  SS_CALL(cuGraphExecMemcpyNodeSetParams);
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeParameters parameters;
  parameters.copy = *given;
  return set_node(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(parameters));
}

SS_EXPORT cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* given,
                                         CUcontext) {
  SS_CALL(cuGraphExecMemsetNodeSetParams);
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeParameters parameters;
  parameters.fill = *given;
  return set_node(exec, node, CU_GRAPH_NODE_TYPE_MEMSET, std::move(parameters));
}

SS_EXPORT cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  SS_CALL(cuGraphExecEventRecordNodeSetEvent);
  NodeParameters parameters;
  parameters.event = event;
  return set_node(exec, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, std::move(parameters));
}

SS_EXPORT cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode made_of, CUgraph child) {
  SS_CALL(cuGraphExecChildGraphNodeSetParams);
  return change_node(exec, made_of, [&](CUgraphExec_st::Node& node) {
    if (node.type != CU_GRAPH_NODE_TYPE_GRAPH || !state().graphs.alive(child)) return CUDA_ERROR_INVALID_VALUE;
    CUgraphNode_st like;
    like.type = node.type;
    like.parameters.child = child;
    node.work = work_of(&like);
    return CUDA_SUCCESS;
  });
}

SS_EXPORT cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode made_of, unsigned enabled) {
  SS_CALL(cuGraphNodeSetEnabled);
  return change_node(exec, made_of, [&](CUgraphExec_st::Node& node) {
    const bool may = node.type == CU_GRAPH_NODE_TYPE_KERNEL || node.type == CU_GRAPH_NODE_TYPE_MEMSET ||
                     node.type == CU_GRAPH_NODE_TYPE_MEMCPY;
    if (!may) return CUDA_ERROR_INVALID_VALUE;
    node.enabled = enabled != 0;
    return CUDA_SUCCESS;
  });
}
