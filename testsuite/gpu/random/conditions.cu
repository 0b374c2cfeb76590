// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/conditions.cuh"

#include <stdexcept>

namespace streamsan::lab {

#if CUDART_VERSION >= 12040

namespace {

__global__ void decide(cudaGraphConditionalHandle handle, unsigned value) { cudaGraphSetConditional(handle, value); }

/// Behind all of the body. The next launch of the graph begins anew.
__global__ void count_round(cudaGraphConditionalHandle handle, unsigned* rounds, unsigned wanted) {
  *rounds = *rounds + 1;
  const bool more = *rounds < wanted;
  if (!more) *rounds = 0;
  cudaGraphSetConditional(handle, more ? 1 : 0);
}

cudaGraphNode_t add_kernel(cudaGraph_t graph, const void* function, void** arguments, const std::vector<cudaGraphNode_t>& after) {
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<void*>(function);
  kernel.gridDim = kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &kernel), "kernel node");
  return node;
}

cudaGraphConditionalNodeType type_of(Op op) {
  return op == Op::If ? cudaGraphCondTypeIf : op == Op::While ? cudaGraphCondTypeWhile : static_cast<cudaGraphConditionalNodeType>(2);
}

/// A WHILE asks for nothing but whether to go on.
unsigned first_value(const Node& node) {
  const unsigned value = node.condition.value;
  return node.work.op == Op::While ? value != 0 : value;
}

}  // namespace

ConditionalNode::ConditionalNode(cudaGraph_t graph, const Node& node, const Places& places, std::size_t cell)
    : graph_(graph), node_(node), rounds_(places.rounds + cell) {
  // Without a kernel in front the handle has the value at each launch; with one, what it had is overwritten.
  const bool by_default = !by_kernel();
  check(cudaGraphConditionalHandleCreate(&handle_, graph, by_default ? first_value(node) : 0,
                                         by_default ? cudaGraphCondAssignDefault : 0),
        "condition");
}

void ConditionalNode::launch_deciding(cudaStream_t stream) const {
  decide<<<1, 1, 0, stream>>>(handle_, first_value(node_));
  check(cudaGetLastError(), "launch");
}

cudaGraphNode_t ConditionalNode::add_deciding(const std::vector<cudaGraphNode_t>& after) const {
  cudaGraphConditionalHandle handle = handle_;
  unsigned value = first_value(node_);
  void* arguments[] = {&handle, &value};
  return add_kernel(graph_, reinterpret_cast<const void*>(decide), arguments, after);
}

cudaGraphNode_t ConditionalNode::make(const std::vector<cudaGraphNode_t>& after) {
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = handle_;
  parameters.conditional.type = type_of(node_.work.op);
  parameters.conditional.size = static_cast<unsigned>(node_.condition.bodies.size());
  cudaGraphNode_t made = nullptr;
#if CUDART_VERSION >= 13000
  check(cudaGraphAddNode(&made, graph_, after.data(), nullptr, after.size(), &parameters), "conditional node");
#else
  check(cudaGraphAddNode(&made, graph_, after.data(), after.size(), &parameters), "conditional node");
#endif
  bodies_ = parameters.conditional.phGraph_out;
  return made;
}

void ConditionalNode::launch_counting(cudaStream_t stream) const {
  count_round<<<1, 1, 0, stream>>>(handle_, rounds_, node_.condition.value);
  check(cudaGetLastError(), "launch");
}

void ConditionalNode::add_counting(cudaGraph_t body, const std::vector<cudaGraphNode_t>& after) const {
  cudaGraphConditionalHandle handle = handle_;
  unsigned* rounds = rounds_;
  unsigned wanted = node_.condition.value;
  void* arguments[] = {&handle, &rounds, &wanted};
  add_kernel(body, reinterpret_cast<const void*>(count_round), arguments, after);
}

CapturedSoFar captured_so_far(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  CapturedSoFar so_far;
  const cudaGraphNode_t* after = nullptr;
  std::size_t count = 0;
#if CUDART_VERSION >= 13000
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &so_far.graph, &after, nullptr, &count), "capture");
#else
  check(cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &so_far.graph, &after, &count), "capture");
#endif
  so_far.after.assign(after, after + count);
  return so_far;
}

void goes_on_behind(cudaStream_t stream, cudaGraphNode_t node) {
#if CUDART_VERSION >= 13000
  check(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies), "capture");
#else
  check(cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamSetCaptureDependencies), "capture");
#endif
}

void begin_capture_into(cudaStream_t stream, cudaGraph_t graph) {
  check(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed), "begin of capture");
}

#else

namespace {
[[noreturn]] void none() { throw std::runtime_error("conditional nodes need CUDA 12.4"); }
}  // namespace

ConditionalNode::ConditionalNode(cudaGraph_t graph, const Node& node, const Places& places, std::size_t cell)
    : graph_(graph), node_(node), rounds_(places.rounds + cell) {}
void ConditionalNode::launch_deciding(cudaStream_t) const { none(); }
cudaGraphNode_t ConditionalNode::add_deciding(const std::vector<cudaGraphNode_t>&) const { none(); }
cudaGraphNode_t ConditionalNode::make(const std::vector<cudaGraphNode_t>&) { none(); }
void ConditionalNode::launch_counting(cudaStream_t) const { none(); }
void ConditionalNode::add_counting(cudaGraph_t, const std::vector<cudaGraphNode_t>&) const { none(); }
CapturedSoFar captured_so_far(cudaStream_t) { none(); }
void goes_on_behind(cudaStream_t, cudaGraphNode_t) { none(); }
void begin_capture_into(cudaStream_t, cudaGraph_t) { none(); }

#endif

}  // namespace streamsan::lab
