// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditional nodes: the calls of CUDA 12.4 and later, and the kernels that decide. An older toolkit has no such nodes:
// then make() throws.
#pragma once

#include <cuda_runtime.h>
#include <vector>

#include "testsuite/gpu/random/places.cuh"

namespace streamsan::lab {

/// One conditional node on its way into a graph: first its kernel in front, if one decides, then itself, then, in the
/// body of a WHILE, the kernel that ends the rounds.
class ConditionalNode {
 public:
  /// `cell`: of the node. The graph may be one that is being captured.
  ConditionalNode(cudaGraph_t graph, const Node& node, const Places& places, std::size_t cell);

  [[nodiscard]] bool by_kernel() const { return node_.condition.by_kernel; }
  void launch_deciding(cudaStream_t stream) const;
  cudaGraphNode_t add_deciding(const std::vector<cudaGraphNode_t>& after) const;

  /// The graphs of the bodies, empty, come with it.
  cudaGraphNode_t make(const std::vector<cudaGraphNode_t>& after);
  [[nodiscard]] cudaGraph_t body(std::size_t number) const { return bodies_[number]; }

  [[nodiscard]] bool loops() const { return node_.work.op == Op::While; }
  void launch_counting(cudaStream_t stream) const;
  void add_counting(cudaGraph_t body, const std::vector<cudaGraphNode_t>& after) const;

 private:
  cudaGraph_t graph_;
  const Node& node_;
  unsigned* rounds_;
  unsigned long long handle_ = 0;
  cudaGraph_t* bodies_ = nullptr;
};

/// The graph that the stream is captured into, and the nodes that the next one comes after.
struct CapturedSoFar {
  cudaGraph_t graph = nullptr;
  std::vector<cudaGraphNode_t> after;
};
CapturedSoFar captured_so_far(cudaStream_t stream);
/// A node that was added by hand is the last one of the stream.
void goes_on_behind(cudaStream_t stream, cudaGraphNode_t node);
/// The capture goes into a graph that is there.
void begin_capture_into(cudaStream_t stream, cudaGraph_t graph);

}  // namespace streamsan::lab
