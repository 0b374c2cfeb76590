// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes executable graphs of a program's graphs, by capture or node by node. Both have exactly the edges that the program
// says: under capture a node is put into a stream whose last node it comes after, or into another one, which joins the
// capture by an event.
#pragma once

#include <cuda_runtime.h>
#include <vector>

#include "testsuite/gpu/random/places.cuh"
#include "testsuite/gpu/random/program.h"
#include "testsuite/gpu/random/shared.h"

namespace streamsan::lab {

unsigned manner_of(const Work& work);
void launch_work(const Places& places, const Work& work, std::size_t cell, cudaStream_t stream);
/// What Op::Host calls.
void CUDART_CB host_work(void* argument);
struct HostArgument {
  Shared* shared = nullptr;
  std::size_t cell = 0;
  bool held = false;
};

/// Streams and events for captures, kept from program to program.
struct CaptureTools {
  std::vector<cudaStream_t> streams;
  std::vector<cudaEvent_t> events;
};

struct MadeGraph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
};
void destroy(MadeGraph& made);

/// Makes graphs of a program.
class GraphMaker {
 public:
  /// `arguments`: of host functions, by cell.
  GraphMaker(const Program& program, const Places& places, HostArgument* arguments, CaptureTools& tools,
             CaptureTools& tools_of_bodies)
      : program_(program), places_(places), arguments_(arguments), tools_(tools), tools_of_bodies_(tools_of_bodies) {}

  MadeGraph make(std::size_t number);

 private:
  class Capture;

  cudaGraph_t capture(std::size_t number);
  /// The nodes that are made.
  std::vector<cudaGraphNode_t> build(std::size_t number, cudaGraph_t graph);
  cudaGraphNode_t add_node(cudaGraph_t graph, const Work& work, std::size_t cell);
  cudaGraphNode_t add_conditional(cudaGraph_t graph, const Node& node, std::size_t cell,
                                  std::vector<cudaGraphNode_t> after);
  void make_bodies(const Node& node, class ConditionalNode& made);

  const Program& program_;
  const Places& places_;
  HostArgument* arguments_;
  CaptureTools& tools_;
  CaptureTools& tools_of_bodies_;
};

}  // namespace streamsan::lab
