// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of graphs: added by hand, with their parameters, and edges. What is not implemented: external semaphores
// (CUDA_ERROR_NOT_SUPPORTED), edge data other than zeros, which is refused.

#include "testsuite/nulldriver/graph_nodes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "testsuite/nulldriver/code.h"
#include "testsuite/nulldriver/memory.h"
#include "testsuite/nulldriver/transfer.h"

namespace streamsan::null {

CUresult plan_kernel(NodeParameters& node, Work* work) {
  CUDA_KERNEL_NODE_PARAMS& kernel = node.kernel;
  if (kernel.func == nullptr) kernel.func = reinterpret_cast<CUfunction>(kernel.kern);
  Code* code = nullptr;
  std::string name;
  if (const CUresult unknown = find_function(kernel.func, &code, &name); unknown != CUDA_SUCCESS) return unknown;
  const KernelBody body = body_of(name);
  const auto layout = layout_of(*code, name);
  if (!layout || kernel.kernelParams == nullptr) {
    kernel.kernelParams = nullptr;
    return body == nullptr || (layout && layout->empty()) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
  }
  auto bytes =
      std::make_shared<std::vector<std::byte>>(layout->empty() ? 0 : layout->back().offset + layout->back().bytes);
  auto values = std::make_shared<std::vector<void*>>();
  for (std::size_t i = 0; i < layout->size(); ++i) {
    std::byte* at = bytes->data() + (*layout)[i].offset;
    std::memcpy(at, kernel.kernelParams[i], (*layout)[i].bytes);
    values->push_back(at);
  }
  node.arguments = bytes;
  node.values = values;
  kernel.kernelParams = values->data();
  if (body != nullptr) *work = [body, bytes, values] { body(values->data()); };
  return CUDA_SUCCESS;
}

Work plan_record(CUevent event) {
  return [event] {
    const Lock lock = lock_state();
    if (!state().events.alive(event)) return;
    event->recorded = true;
    event->time = std::chrono::steady_clock::now();
    event->capture.reset();
  };
}

CUresult plan_node(CUgraphNodeType type, NodeParameters& node, Work* work) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const Lock lock = lock_state();
      return plan_kernel(node, work);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return plan_copy(&node.copy, work);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return plan_fill(node.fill.dst, node.fill.height > 1 ? node.fill.pitch : 0, node.fill.value,
                       node.fill.elementSize, {.width = node.fill.width, .height = node.fill.height}, work);
    case CU_GRAPH_NODE_TYPE_HOST:
      if (node.host.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
      *work = [host = node.host] { host.fn(host.userData); };
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      *work = plan_record(node.event);
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

bool is_live_node(CUgraphNode wanted) {
  // Also those of child graphs, which are graphs like others.
  for (CUgraph graph : state().graphs.all()) {
    for (const auto& node : graph->nodes) {
      if (node.get() == wanted) return true;
    }
  }
  return false;
}

namespace {

CUresult add(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count, CUgraphNodeType type,
             NodeParameters node) {
  if (out == nullptr || (after == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  Work work;
  if (const CUresult refused = plan_node(type, node, &work); refused != CUDA_SUCCESS) return refused;
  const Lock lock = lock_state();
  if (!state().graphs.alive(graph)) return CUDA_ERROR_INVALID_VALUE;
  const auto here = [graph](CUgraphNode wanted) {
    return std::any_of(graph->nodes.begin(), graph->nodes.end(), [wanted](auto& n) { return n.get() == wanted; });
  };
  if (!std::all_of(after, after + count, here)) return CUDA_ERROR_INVALID_VALUE;
  if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
    if (!state().graphs.alive(node.child)) return CUDA_ERROR_INVALID_VALUE;
    if (has_conditional(node.child)) return CUDA_ERROR_NOT_SUPPORTED;
    node.child = clone_graph(node.child);
  }
  *out = add_node(graph, type, {after, after + count}, std::move(work), std::move(node));
  return CUDA_SUCCESS;
}

/// A node with such parameters.
template <class Member, class Value>
CUresult add_member(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count, CUgraphNodeType type,
                    Member member, const Value* given) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeParameters node;
  node.*member = *given;
  return add(out, graph, after, count, type, std::move(node));
}

/// Memory of the graph, there from now on.
CUresult take_memory(CUDA_MEM_ALLOC_NODE_PARAMS& wanted) {
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult refused = require_context(&context); refused != CUDA_SUCCESS) return refused;
  if (wanted.bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  wanted.dptr = allocate(pool_heap(context->device), wanted.bytesize, MemoryKind::Pool, 0, context);
  return wanted.dptr == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult add_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, std::size_t count, bool add) {
  const Lock lock = lock_state();
  if (!state().graphs.alive(graph)) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_live_node(from[i]) || !is_live_node(to[i])) return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphNode>& after = to[i]->after;
    const auto known = std::find(after.begin(), after.end(), from[i]);
    if ((known != after.end()) == add) return CUDA_ERROR_INVALID_VALUE;
    add ? after.push_back(from[i]) : void(after.erase(known));
  }
  return CUDA_SUCCESS;
}

bool is_plain(const CUgraphEdgeData* data, std::size_t count) {
  return data == nullptr || std::all_of(data, data + count, [](const CUgraphEdgeData& each) {
           return each.from_port == 0 && each.to_port == 0 && each.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT;
         });
}

CUresult edges_of(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().graphs.alive(graph)) return CUDA_ERROR_INVALID_VALUE;
  std::size_t found = 0;
  for (const auto& node : graph->nodes) {
    for (CUgraphNode before : node->after) {
      if (from != nullptr && to != nullptr && found < *count) {
        from[found] = before;
        to[found] = node.get();
        if (data != nullptr) data[found] = {};
      }
      ++found;
    }
  }
  *count = found;
  return CUDA_SUCCESS;
}

/// The member of a node's parameters, if the node is of the type.
template <class Member, class Value>
CUresult get_member(CUgraphNode node, CUgraphNodeType type, Member member, Value* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!is_live_node(node) || node->type != type) return CUDA_ERROR_INVALID_VALUE;
  *out = node->parameters.*member;
  return CUDA_SUCCESS;
}

/// Gives a node of a graph other parameters.
template <class Member, class Value>
CUresult set_member(CUgraphNode node, CUgraphNodeType type, Member member, const Value* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  NodeParameters changed;
  changed.*member = *value;
  Work work;
  if (const CUresult refused = plan_node(type, changed, &work); refused != CUDA_SUCCESS) return refused;
  const Lock lock = lock_state();
  if (!is_live_node(node) || node->type != type) return CUDA_ERROR_INVALID_VALUE;
  node->parameters = std::move(changed);
  node->work = std::move(work);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

#define SS_ADD(symbol_, type_, member_, Given_)                                                                \
  SS_EXPORT symbol_(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, Given_ given) {   \
    SS_CALL(symbol_);                                                                                          \
    return add_member(out, graph, after, count, CU_GRAPH_NODE_TYPE_##type_, &NodeParameters::member_, &given); \
  }
SS_ADD(cuGraphAddChildGraphNode, GRAPH, child, CUgraph)
SS_ADD(cuGraphAddEventRecordNode, EVENT_RECORD, event, CUevent)
SS_ADD(cuGraphAddEventWaitNode, WAIT_EVENT, event, CUevent)
SS_ADD(cuGraphAddMemFreeNode, MEM_FREE, freed, CUdeviceptr)

SS_EXPORT cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count) {
  SS_CALL(cuGraphAddEmptyNode);
  return add(out, graph, after, count, CU_GRAPH_NODE_TYPE_EMPTY, {});
}

/// Some have a context besides.
#define SS_ADD_GIVEN(symbol_, type_, member_, Given_, ...)                                                    \
  SS_EXPORT symbol_(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,                  \
                    const Given_* given __VA_OPT__(, ) __VA_ARGS__) {                                         \
    SS_CALL(symbol_);                                                                                         \
    return add_member(out, graph, after, count, CU_GRAPH_NODE_TYPE_##type_, &NodeParameters::member_, given); \
  }
SS_ADD_GIVEN(cuGraphAddKernelNode, KERNEL, kernel, CUDA_KERNEL_NODE_PARAMS)
SS_ADD_GIVEN(cuGraphAddMemcpyNode, MEMCPY, copy, CUDA_MEMCPY3D, CUcontext)
SS_ADD_GIVEN(cuGraphAddMemsetNode, MEMSET, fill, CUDA_MEMSET_NODE_PARAMS, CUcontext)
SS_ADD_GIVEN(cuGraphAddHostNode, HOST, host, CUDA_HOST_NODE_PARAMS)

SS_EXPORT cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                 CUDA_MEM_ALLOC_NODE_PARAMS* given) {
  SS_CALL(cuGraphAddMemAllocNode);
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult refused = take_memory(*given); refused != CUDA_SUCCESS) return refused;
  return add_member(out, graph, after, count, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &NodeParameters::allocation, given);
}

SS_EXPORT cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* data,
                         size_t count, CUgraphNodeParams* given) {
  SS_CALL(cuGraphAddNode);
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_plain(data, count)) return CUDA_ERROR_NOT_SUPPORTED;
  NodeParameters node;
  switch (given->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      std::memcpy(&node.kernel, &given->kernel, sizeof node.kernel);  // the same, but another version of its name
      break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      node.copy = given->memcpy.copyParams;
      break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      std::memcpy(&node.fill, &given->memset, sizeof node.fill);
      break;
    case CU_GRAPH_NODE_TYPE_HOST:
      node.host = {.fn = given->host.fn, .userData = given->host.userData};
      break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      node.child = given->graph.graph;
      break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      node.event = given->eventRecord.event;
      break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      node.event = given->eventWait.event;
      break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      node.freed = given->free.dptr;
      break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      node.allocation.bytesize = given->alloc.bytesize;
      if (const CUresult refused = take_memory(node.allocation); refused != CUDA_SUCCESS) return refused;
      given->alloc.dptr = node.allocation.dptr;
      break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
      const Lock lock = lock_state();
      if (const CUresult refused = plan_conditional(given->conditional, &node); refused != CUDA_SUCCESS) return refused;
      given->conditional.phGraph_out = node.bodies.data();  // which moves with the parameters
      break;
    }
    case CU_GRAPH_NODE_TYPE_EMPTY:
      break;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return add(out, graph, after, count, given->type, std::move(node));
}

SS_EXPORT cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                 const CUgraphEdgeData* data, size_t count) {
  SS_CALL(cuGraphAddDependencies);
  return is_plain(data, count) ? add_edges(graph, from, to, count, true) : CUDA_ERROR_NOT_SUPPORTED;
}

SS_EXPORT cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                    const CUgraphEdgeData* data, size_t count) {
  SS_CALL(cuGraphRemoveDependencies);
  return is_plain(data, count) ? add_edges(graph, from, to, count, false) : CUDA_ERROR_NOT_SUPPORTED;
}

SS_EXPORT cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  SS_CALL(cuGraphGetEdges);
  return edges_of(graph, from, to, data, count);
}

SS_EXPORT cuGraphDestroyNode(CUgraphNode node) {
  SS_CALL(cuGraphDestroyNode);
  const Lock lock = lock_state();
  for (CUgraph graph : state().graphs.all()) {
    const auto found =
        std::find_if(graph->nodes.begin(), graph->nodes.end(), [node](auto& each) { return each.get() == node; });
    if (found == graph->nodes.end()) continue;
    for (const auto& each : graph->nodes) std::erase(each->after, node);
    graph->nodes.erase(found);
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

#define SS_GET(symbol_, type_, member_, Value_)                                         \
  SS_EXPORT symbol_(CUgraphNode node, Value_* out) {                                    \
    SS_CALL(symbol_);                                                                   \
    return get_member(node, CU_GRAPH_NODE_TYPE_##type_, &NodeParameters::member_, out); \
  }
SS_GET(cuGraphKernelNodeGetParams, KERNEL, kernel, CUDA_KERNEL_NODE_PARAMS)
SS_GET(cuGraphMemcpyNodeGetParams, MEMCPY, copy, CUDA_MEMCPY3D)
SS_GET(cuGraphMemsetNodeGetParams, MEMSET, fill, CUDA_MEMSET_NODE_PARAMS)
SS_GET(cuGraphHostNodeGetParams, HOST, host, CUDA_HOST_NODE_PARAMS)
SS_GET(cuGraphChildGraphNodeGetGraph, GRAPH, child, CUgraph)
SS_GET(cuGraphEventRecordNodeGetEvent, EVENT_RECORD, event, CUevent)
SS_GET(cuGraphEventWaitNodeGetEvent, WAIT_EVENT, event, CUevent)
SS_GET(cuGraphMemAllocNodeGetParams, MEM_ALLOC, allocation, CUDA_MEM_ALLOC_NODE_PARAMS)
SS_GET(cuGraphMemFreeNodeGetParams, MEM_FREE, freed, CUdeviceptr)

SS_EXPORT cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
  SS_CALL(cuGraphBatchMemOpNodeGetParams);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!is_live_node(node) || node->type != CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUstreamBatchMemOpParams>& operations = node->parameters.operations;
  *out = {
      .ctx = nullptr, .count = static_cast<unsigned>(operations.size()), .paramArray = operations.data(), .flags = 0};
  return CUDA_SUCCESS;
}

#define SS_SET(symbol_, type_, member_, Value_)                                           \
  SS_EXPORT symbol_(CUgraphNode node, const Value_* value) {                              \
    SS_CALL(symbol_);                                                                     \
    return set_member(node, CU_GRAPH_NODE_TYPE_##type_, &NodeParameters::member_, value); \
  }
SS_SET(cuGraphKernelNodeSetParams, KERNEL, kernel, CUDA_KERNEL_NODE_PARAMS)
SS_SET(cuGraphMemcpyNodeSetParams, MEMCPY, copy, CUDA_MEMCPY3D)
SS_SET(cuGraphMemsetNodeSetParams, MEMSET, fill, CUDA_MEMSET_NODE_PARAMS)
