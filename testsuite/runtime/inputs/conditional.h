// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditional nodes: a kernel sets the condition, the node runs one of its bodies. On the null driver no kernel runs:
// there the value counts that the handle has at first, which is 1.
#pragma once

#include "graphs.h"

/// The body runs once, if it is an IF, and `times` times, if it is a WHILE: one thread, behind the work of the body.
__global__ void decide(cudaGraphConditionalHandle handle, unsigned value) { cudaGraphSetConditional(handle, value); }
__global__ void count_down(cudaGraphConditionalHandle handle, unsigned* left) {
  *left -= 1;
  cudaGraphSetConditional(handle, *left != 0);
}

inline cudaGraphConditionalHandle condition(cudaGraph_t graph) {
  cudaGraphConditionalHandle handle;
  must(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  return handle;
}

struct Conditional {
  cudaGraphNode_t node;
  cudaGraph_t* bodies;
};

inline Conditional conditional(cudaGraph_t graph, cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                               unsigned size, const cudaGraphNode_t* front = nullptr) {
  cudaGraphNodeParams given{};
  given.type = cudaGraphNodeTypeConditional;
  given.conditional.handle = handle;
  given.conditional.type = type;
  given.conditional.size = size;
  Conditional made{};
  must(cudaGraphAddNode(&made.node, graph, front, nullptr, front ? 1 : 0, &given));
  made.bodies = given.conditional.phGraph_out;
  return made;
}

/// Nodes by hand, behind one other.
inline cudaGraphNode_t fill(cudaGraph_t graph, float* memory, const cudaGraphNode_t* front = nullptr) {
  cudaMemsetParams zeros{};
  zeros.dst = memory;
  zeros.elementSize = 4;
  zeros.width = kCount;
  zeros.height = 1;
  cudaGraphNode_t node;
  must(cudaGraphAddMemsetNode(&node, graph, front, front ? 1 : 0, &zeros));
  return node;
}
inline cudaGraphNode_t kernel(cudaGraph_t graph, const void* function, unsigned blocks, unsigned threads,
                              void** arguments, const cudaGraphNode_t* front = nullptr) {
  cudaKernelNodeParams given{};
  given.func = const_cast<void*>(function);
  given.gridDim = dim3(blocks);
  given.blockDim = dim3(threads);
  given.kernelParams = arguments;
  cudaGraphNode_t node;
  must(cudaGraphAddKernelNode(&node, graph, front, front ? 1 : 0, &given));
  return node;
}
