// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of graphs, and updates of executable graphs.

#include "testsuite/nullcudart/runtime.h"

namespace {

using namespace streamsan::nullcudart;

/// The driver's parameters of a kernel node.
cudaError_t kernel_node(const cudaKernelNodeParams& given, CUDA_KERNEL_NODE_PARAMS* out) {
  CUkernel kernel = nullptr;
  if (const cudaError_t unready = prepare(); unready != cudaSuccess) return unready;
  if (const cudaError_t unknown = kernel_of(given.func, &kernel); unknown != cudaSuccess) return unknown;
  *out = {.gridDimX = given.gridDim.x,
          .gridDimY = given.gridDim.y,
          .gridDimZ = given.gridDim.z,
          .blockDimX = given.blockDim.x,
          .blockDimY = given.blockDim.y,
          .blockDimZ = given.blockDim.z,
          .sharedMemBytes = given.sharedMemBytes,
          .kernelParams = given.kernelParams,
          .extra = given.extra,
          .kern = kernel};
  return cudaSuccess;
}

CUDA_MEMCPY3D linear_copy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  const auto type = [kind](bool host) {
    return kind == cudaMemcpyDefault ? CU_MEMORYTYPE_UNIFIED : host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  };
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = type(kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost);
  copy.dstMemoryType = type(kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost);
  copy.srcHost = src;
  copy.srcDevice = reinterpret_cast<CUdeviceptr>(src);
  copy.dstHost = dst;
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(dst);
  copy.WidthInBytes = bytes;
  copy.Height = 1;
  copy.Depth = 1;
  return copy;
}

CUDA_MEMSET_NODE_PARAMS fill_node(const cudaMemsetParams& given) {
  return {.dst = reinterpret_cast<CUdeviceptr>(given.dst),
          .pitch = given.pitch,
          .value = given.value,
          .elementSize = given.elementSize,
          .width = given.width,
          .height = given.height};
}

}  // namespace

NC_EXPORT cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 const cudaKernelNodeParams* given) {
  CUDA_KERNEL_NODE_PARAMS kernel;
  if (const cudaError_t wrong = kernel_node(*given, &kernel); wrong != cudaSuccess) return remember(wrong);
  NC_RETURN(cuGraphAddKernelNode(node, graph, after, count, &kernel));
}

NC_EXPORT cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  const CUDA_MEMCPY3D copy = linear_copy(dst, src, bytes, kind);
  NC_RETURN(cuGraphAddMemcpyNode(node, graph, after, count, &copy, nullptr));
}

NC_EXPORT cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 const cudaMemsetParams* given) {
  const CUDA_MEMSET_NODE_PARAMS fill = fill_node(*given);
  NC_RETURN(cuGraphAddMemsetNode(node, graph, after, count, &fill, nullptr));
}

NC_EXPORT cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                               const cudaHostNodeParams* given) {
  const CUDA_HOST_NODE_PARAMS host{.fn = given->fn, .userData = given->userData};
  NC_RETURN(cuGraphAddHostNode(node, graph, after, count, &host));
}

NC_EXPORT cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count) {
  NC_RETURN(cuGraphAddEmptyNode(node, graph, after, count));
}

NC_EXPORT cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, cudaGraph_t child) {
  NC_RETURN(cuGraphAddChildGraphNode(node, graph, after, count, child));
}

NC_EXPORT cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                      size_t count, cudaEvent_t event) {
  NC_RETURN(cuGraphAddEventRecordNode(node, graph, after, count, event));
}

NC_EXPORT cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                    size_t count, cudaEvent_t event) {
  NC_RETURN(cuGraphAddEventWaitNode(node, graph, after, count, event));
}

NC_EXPORT cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   cudaMemAllocNodeParams* given) {
  CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
  allocation.bytesize = given->bytesize;
  if (const cudaError_t unready = prepare(); unready != cudaSuccess) return remember(unready);
  const CUresult result = entries().cuGraphAddMemAllocNode(node, graph, after, count, &allocation);
  given->dptr = reinterpret_cast<void*>(allocation.dptr);
  return remember(static_cast<cudaError_t>(result));
}

NC_EXPORT cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                  void* pointer) {
  NC_RETURN(cuGraphAddMemFreeNode(node, graph, after, count, reinterpret_cast<CUdeviceptr>(pointer)));
}

NC_EXPORT cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph, unsigned value,
                                           unsigned flags) {
  NC_RETURN(cuGraphConditionalHandleCreate(reinterpret_cast<CUgraphConditionalHandle*>(handle), graph, nullptr, value,
                                           flags));
}

/// Of conditional nodes only.
NC_EXPORT cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                           const cudaGraphEdgeData* data, size_t count, cudaGraphNodeParams* given) {
  if (given->type != cudaGraphNodeTypeConditional) return remember(cudaErrorNotSupported);
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  parameters.conditional.handle = given->conditional.handle;
  parameters.conditional.type = static_cast<CUgraphConditionalNodeType>(given->conditional.type);
  parameters.conditional.size = given->conditional.size;
  if (const cudaError_t unready = prepare(); unready != cudaSuccess) return remember(unready);
  const auto* edges = reinterpret_cast<const CUgraphEdgeData*>(data);
  const CUresult result = entries().cuGraphAddNode(node, graph, after, edges, count, &parameters);
  given->conditional.phGraph_out = parameters.conditional.phGraph_out;
  return remember(static_cast<cudaError_t>(result));
}

NC_EXPORT cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                   const cudaGraphEdgeData* data, size_t count) {
  NC_RETURN(cuGraphAddDependencies(graph, from, to, reinterpret_cast<const CUgraphEdgeData*>(data), count));
}

NC_EXPORT cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) { NC_RETURN(cuGraphClone(clone, graph)); }

NC_EXPORT cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  NC_RETURN(cuGraphExecUpdate(exec, graph, reinterpret_cast<CUgraphExecUpdateResultInfo*>(info)));
}

NC_EXPORT cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaKernelNodeParams* given) {
  CUDA_KERNEL_NODE_PARAMS kernel;
  if (const cudaError_t wrong = kernel_node(*given, &kernel); wrong != cudaSuccess) return remember(wrong);
  NC_RETURN(cuGraphExecKernelNodeSetParams(exec, node, &kernel));
}

NC_EXPORT cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* dst, const void* src,
                                             size_t bytes, cudaMemcpyKind kind) {
  const CUDA_MEMCPY3D copy = linear_copy(dst, src, bytes, kind);
  NC_RETURN(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, nullptr));
}

NC_EXPORT cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemsetParams* given) {
  const CUDA_MEMSET_NODE_PARAMS fill = fill_node(*given);
  NC_RETURN(cuGraphExecMemsetNodeSetParams(exec, node, &fill, nullptr));
}

NC_EXPORT cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {
  NC_RETURN(cuGraphExecEventRecordNodeSetEvent(exec, node, event));
}

NC_EXPORT cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
  NC_RETURN(cuGraphExecChildGraphNodeSetParams(exec, node, child));
}

NC_EXPORT cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
  NC_RETURN(cuGraphNodeSetEnabled(exec, node, enabled));
}
