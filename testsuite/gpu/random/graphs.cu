// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/graphs.cuh"

#include <chrono>
#include <stdexcept>
#include <string>

namespace streamsan::lab {
namespace {

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ void let_dependents_begin() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// The one kernel of all programs; its first block marks. Launches of one graph never run twice at a time, so a count needs no atomic.
__global__ void work_kernel(Marks* marks, Gate* gate, unsigned manner) {
  const bool first = blockIdx.x == 0;
  if (first) marks->begun = marks->begun + 1;
  __threadfence_system();
  if (manner & kTriggersFirst) let_dependents_begin();
#if __CUDA_ARCH__ >= 900
  if (manner & kWaits) cudaGridDependencySynchronize();
#endif
  if (first) marks->waited = marks->waited + 1;
  __threadfence_system();
  if (manner & kTriggersAfterWait) let_dependents_begin();
  if (!(manner & kHeld)) return;
  if (first) gate->started = 1;
  __threadfence_system();
  const unsigned long long begin = nanoseconds();
  while (!gate->open) {
    if (nanoseconds() - begin < 2000000000ull) continue;
    gate->timed_out = 1;
    __threadfence_system();
    return;
  }
}

dim3 blocks_of(const Work& work) { return dim3(work.wide ? 64 : 1); }

void add_captured(const Work& work, std::size_t cell, const Places& places, HostArgument* arguments, cudaStream_t stream) {
  switch (work.op) {
    case Op::Kernel: launch_work(places, work, cell, stream); return;
    case Op::Copy:
      check(cudaMemcpyAsync(destination(places, work, cell), source(places, work, cell), 4, cudaMemcpyDefault, stream), "copy");
      return;
    case Op::Fill: check(cudaMemsetAsync(destination(places, work, cell), 1, 4, stream), "fill"); return;
    case Op::Host: check(cudaLaunchHostFunc(stream, host_work, &arguments[cell]), "host function"); return;
    default: throw std::runtime_error("a node that cannot be captured");
  }
}

/// The nodes of a capture so far: which stream each is in, and what is the last one of each stream.
class Capture {
 public:
  explicit Capture(CaptureTools& tools) : tools_(tools) {
    check(cudaStreamBeginCapture(stream(0), cudaStreamCaptureModeRelaxed), "begin of capture");
    check(cudaEventRecord(event(0), stream(0)), "record");
    tails_.assign(1, kNone);
  }

  void add(const Node& node, std::size_t number, std::size_t cell, const Places& places, HostArgument* arguments) {
    const std::size_t lane = lane_for(node);
    for (const unsigned before : node.after) {
      if (lane_of_[before] != lane) check(cudaStreamWaitEvent(stream(lane), event(1 + before), 0), "wait");
    }
    add_captured(node.work, cell, places, arguments, stream(lane));
    check(cudaEventRecord(event(1 + number), stream(lane)), "record");
    lane_of_.push_back(lane);
    tails_[lane] = number;
  }

  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    if (ended_) return;
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(stream(0), &graph);
    cudaGetLastError();
    if (graph) cudaGraphDestroy(graph);
  }

  cudaGraph_t end() {
    for (std::size_t lane = 1; lane < tails_.size(); ++lane)
      check(cudaStreamWaitEvent(stream(0), event(1 + tails_[lane]), 0), "wait");
    cudaGraph_t graph = nullptr;
    ended_ = true;
    check(cudaStreamEndCapture(stream(0), &graph), "end of capture");
    return graph;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t lane_for(const Node& node) {
    for (const unsigned before : node.after) {
      if (tails_[lane_of_[before]] == before) return lane_of_[before];
    }
    if (tails_[0] == kNone && node.after.empty()) return 0;
    tails_.push_back(kNone);
    const std::size_t lane = tails_.size() - 1;
    check(cudaStreamWaitEvent(stream(lane), event(0), 0), "wait");  // joins the capture, behind nothing
    return lane;
  }
  cudaStream_t stream(std::size_t lane) {
    while (tools_.streams.size() <= lane) {
      tools_.streams.emplace_back();
      check(cudaStreamCreateWithFlags(&tools_.streams.back(), cudaStreamNonBlocking), "stream");
    }
    return tools_.streams[lane];
  }
  cudaEvent_t event(std::size_t number) {
    while (tools_.events.size() <= number) {
      tools_.events.emplace_back();
      check(cudaEventCreateWithFlags(&tools_.events.back(), cudaEventDisableTiming), "event");
    }
    return tools_.events[number];
  }

  CaptureTools& tools_;
  bool ended_ = false;
  std::vector<std::size_t> tails_;
  std::vector<std::size_t> lane_of_;
};

void add_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to, bool programmatic) {
  cudaGraphEdgeData data{};
  if (programmatic) {
    data.type = cudaGraphDependencyTypeProgrammatic;
    data.from_port = cudaGraphKernelNodePortProgrammatic;
  }
#if CUDART_VERSION >= 13000
  check(cudaGraphAddDependencies(graph, &from, &to, &data, 1), "edge");
#else
  check(cudaGraphAddDependencies_v2(graph, &from, &to, &data, 1), "edge");
#endif
}

cudaGraphNode_t add_node(cudaGraph_t graph, const Work& work, std::size_t cell, const Places& places, HostArgument* arguments) {
  cudaGraphNode_t node = nullptr;
  switch (work.op) {
    case Op::Kernel: {
      Marks* marks = &places.shared->marks[cell];
      Gate* gate = &places.shared->gate;
      unsigned manner = manner_of(work);
      void* parameters[] = {&marks, &gate, &manner};
      cudaKernelNodeParams kernel{};
      kernel.func = reinterpret_cast<void*>(work_kernel);
      kernel.gridDim = blocks_of(work);
      kernel.blockDim = dim3(1);
      kernel.kernelParams = parameters;
      check(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel), "kernel node");
      return node;
    }
    case Op::Copy:
      check(cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, destination(places, work, cell), source(places, work, cell), 4,
                                     cudaMemcpyDefault),
            "copy node");
      return node;
    case Op::Fill: {
      cudaMemsetParams fill{};
      fill.dst = destination(places, work, cell);
      fill.value = 1;
      fill.elementSize = 4;
      fill.width = fill.height = 1;
      check(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill), "fill node");
      return node;
    }
    case Op::Host: {
      cudaHostNodeParams host{};
      host.fn = host_work;
      host.userData = &arguments[cell];
      check(cudaGraphAddHostNode(&node, graph, nullptr, 0, &host), "host node");
      return node;
    }
    default: check(cudaGraphAddEmptyNode(&node, graph, nullptr, 0), "empty node"); return node;
  }
}

cudaGraph_t build(const Graph& graph, std::size_t number, const Places& places, HostArgument* arguments) {
  cudaGraph_t made = nullptr;
  check(cudaGraphCreate(&made, 0), "graph");
  std::vector<cudaGraphNode_t> nodes;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    nodes.push_back(add_node(made, node.work, cell_of_node(number, n), places, arguments));
    for (const unsigned before : node.after) {
      const bool kernels = node.work.op == Op::Kernel && graph.nodes[before].work.op == Op::Kernel;
      add_edge(made, nodes[before], nodes[n], node.work.dependent && kernels);
    }
  }
  return made;
}

}  // namespace

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(result));
}

unsigned manner_of(const Work& work) {
  return (work.held ? kHeld : 0) | (work.waits ? kWaits : 0) | (work.triggers == Triggers::First ? kTriggersFirst : 0) |
         (work.triggers == Triggers::AfterWait ? kTriggersAfterWait : 0);
}

void* destination(const Places& places, const Work& work, std::size_t cell) {
  if (work.op == Op::Fill) return work.pinned ? &places.landing[cell] : &places.slots[cell];
  if (work.route == Route::FromDevice) return &places.landing[cell];
  if (work.route == Route::PageableFromDevice) return &places.landing_pageable[cell];
  return &places.slots[cell];
}

const void* source(const Places& places, const Work& work, std::size_t cell) {
  if (work.route == Route::ToDevice) return &places.ones_host[cell];
  if (work.route == Route::PageableToDevice) return &places.ones_pageable[cell];
  return &places.ones[cell];
}

void launch_work(const Places& places, const Work& work, std::size_t cell, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks_of(work);
  config.blockDim = dim3(1);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = work.dependent ? 1 : 0;
  check(cudaLaunchKernelEx(&config, work_kernel, &places.shared->marks[cell], &places.shared->gate, manner_of(work)), "launch");
}

void CUDART_CB host_work(void* argument) {
  const auto& [shared, cell, held] = *static_cast<const HostArgument*>(argument);
  shared->marks[cell].begun = shared->marks[cell].begun + 1;
  if (!held) return;
  shared->gate.started = 1;
  const auto begin = std::chrono::steady_clock::now();
  while (shared->gate.open == 0) {
    if (std::chrono::steady_clock::now() - begin < std::chrono::seconds(2)) continue;
    shared->gate.timed_out = 1;
    return;
  }
}

cudaGraphExec_t make_graph(const Graph& graph, std::size_t number, const Places& places, HostArgument* arguments,
                           CaptureTools& tools) {
  cudaGraph_t made = nullptr;
  if (graph.captured) {
    Capture capture(tools);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      capture.add(graph.nodes[n], n, cell_of_node(number, n), places, arguments);
    made = capture.end();
  } else {
    made = build(graph, number, places, arguments);
  }
  cudaGraphExec_t exec = nullptr;
  const cudaError_t result = cudaGraphInstantiate(&exec, made, 0);
  cudaGraphDestroy(made);
  check(result, "instantiation");
  return exec;
}

}  // namespace streamsan::lab
