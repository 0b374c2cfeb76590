// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/gpu/random/graphs.cuh"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "testsuite/gpu/random/conditions.cuh"

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
    case Op::Copy: copy(places, work, cell, stream, Form::Asynchronous); return;
    case Op::Fill: fill(places, work, cell, stream, Form::Asynchronous); return;
    case Op::Host: check(cudaLaunchHostFunc(stream, host_work, &arguments[cell]), "host function"); return;
    default: throw std::runtime_error("a node that cannot be captured");
  }
}

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

}  // namespace

unsigned manner_of(const Work& work) {
  return (work.held ? kHeld : 0) | (work.waits ? kWaits : 0) | (work.triggers == Triggers::First ? kTriggersFirst : 0) |
         (work.triggers == Triggers::AfterWait ? kTriggersAfterWait : 0);
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

/// The nodes of a capture so far: which stream each is in, and what is the last one of each stream.
class GraphMaker::Capture {
 public:
  /// `into`: a graph that is there; none: a new one.
  explicit Capture(CaptureTools& tools, cudaGraph_t into = nullptr) : tools_(tools), into_(into) {
    if (into) {
      begin_capture_into(stream(0), into);
    } else {
      check(cudaStreamBeginCapture(stream(0), cudaStreamCaptureModeRelaxed), "begin of capture");
    }
    check(cudaEventRecord(event(0), stream(0)), "record");
    tails_.assign(1, kNone);
  }

  /// `put`: what the node is to the stream that it is given.
  template <typename Put>
  void add(const Node& node, std::size_t number, Put put) {
    const std::size_t lane = lane_for(node);
    for (const unsigned before : node.after) {
      if (lane_of_[before] != lane) check(cudaStreamWaitEvent(stream(lane), event(1 + before), 0), "wait");
    }
    put(stream(lane));
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
    if (graph && !into_) cudaGraphDestroy(graph);
  }

  /// The stream comes behind all nodes.
  cudaStream_t join() {
    for (std::size_t lane = 1; lane < tails_.size(); ++lane)
      check(cudaStreamWaitEvent(stream(0), event(1 + tails_[lane]), 0), "wait");
    return stream(0);
  }
  cudaGraph_t end() {
    join();
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
  cudaGraph_t into_ = nullptr;
  bool ended_ = false;
  std::vector<std::size_t> tails_;
  std::vector<std::size_t> lane_of_;
};

cudaGraph_t GraphMaker::capture(std::size_t number) {
  const std::vector<Node>& nodes = program_.graphs[number].nodes;
  Capture capture(tools_);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::size_t cell = cell_of_node(number, n);
    capture.add(nodes[n], n, [&](cudaStream_t stream) {
      if (!is_conditional(nodes[n].work.op)) return add_captured(nodes[n].work, cell, places_, arguments_, stream);
      ConditionalNode made(captured_so_far(stream).graph, nodes[n], places_, cell);
      if (made.by_kernel()) made.launch_deciding(stream);
      goes_on_behind(stream, made.make(captured_so_far(stream).after));
      make_bodies(nodes[n], made);
    });
  }
  return capture.end();
}

void GraphMaker::make_bodies(const Node& node, ConditionalNode& made) {
  for (std::size_t body = 0; body < node.condition.bodies.size(); ++body) {
    const std::size_t number = node.condition.bodies[body];
    const Graph& graph = program_.graphs[number];
    if (!graph.captured) {
      const std::vector<cudaGraphNode_t> all = build(number, made.body(body));
      if (made.loops()) made.add_counting(made.body(body), all);
      continue;
    }
    Capture capture(tools_of_bodies_, made.body(body));
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      capture.add(graph.nodes[n], n, [&](cudaStream_t stream) {
        add_captured(graph.nodes[n].work, cell_of_node(number, n), places_, arguments_, stream);
      });
    }
    if (made.loops()) made.launch_counting(capture.join());
    capture.end();
  }
}

cudaGraphNode_t GraphMaker::add_node(cudaGraph_t graph, const Work& work, std::size_t cell) {
  cudaGraphNode_t node = nullptr;
  switch (work.op) {
    case Op::Kernel: {
      Marks* marks = &places_.shared->marks[cell];
      Gate* gate = &places_.shared->gate;
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
    case Op::Copy: return add_copy_node(graph, places_, work, cell);
    case Op::Fill: return add_fill_node(graph, places_, work, cell);
    case Op::Host: {
      cudaHostNodeParams host{};
      host.fn = host_work;
      host.userData = &arguments_[cell];
      check(cudaGraphAddHostNode(&node, graph, nullptr, 0, &host), "host node");
      return node;
    }
    default: check(cudaGraphAddEmptyNode(&node, graph, nullptr, 0), "empty node"); return node;
  }
}

cudaGraphNode_t GraphMaker::add_conditional(cudaGraph_t graph, const Node& node, std::size_t cell,
                                            std::vector<cudaGraphNode_t> after) {
  ConditionalNode made(graph, node, places_, cell);
  if (made.by_kernel()) after = {made.add_deciding(after)};
  const cudaGraphNode_t self = made.make(after);
  make_bodies(node, made);
  return self;
}

std::vector<cudaGraphNode_t> GraphMaker::build(std::size_t number, cudaGraph_t graph) {
  const std::vector<Node>& nodes = program_.graphs[number].nodes;
  std::vector<cudaGraphNode_t> made;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    const std::size_t cell = cell_of_node(number, n);
    if (is_conditional(node.work.op)) {
      std::vector<cudaGraphNode_t> after;
      for (const unsigned before : node.after) after.push_back(made[before]);
      made.push_back(add_conditional(graph, node, cell, std::move(after)));
      continue;
    }
    made.push_back(add_node(graph, node.work, cell));
    for (const unsigned before : node.after) {
      const bool kernels = node.work.op == Op::Kernel && nodes[before].work.op == Op::Kernel;
      add_edge(graph, made[before], made[n], node.work.dependent && kernels);
    }
  }
  return made;
}

MadeGraph GraphMaker::make(std::size_t number) {
  MadeGraph made;
  if (program_.graphs[number].captured) {
    made.graph = capture(number);
  } else {
    check(cudaGraphCreate(&made.graph, 0), "graph");
    build(number, made.graph);
  }
  const cudaError_t result = cudaGraphInstantiate(&made.exec, made.graph, 0);
  if (result != cudaSuccess) destroy(made);
  check(result, "instantiation");
  return made;
}

void destroy(MadeGraph& made) {
  if (made.exec) cudaGraphExecDestroy(made.exec);
  if (made.graph) cudaGraphDestroy(made.graph);
  made = {};
}

}  // namespace streamsan::lab
