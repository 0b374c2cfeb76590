// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/graph_image.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "interposer/decode.h"
#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/graph_bodies.h"
#include "interposer/graph_memory.h"
#include "interposer/launch.h"
#include "interposer/learning.h"
#include "interposer/process.h"
#include "interposer/stack.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

using trace::NodeKind;

/// An array in pages of its own, which are zero at first.
template <class T>
class Pages {
 public:
  explicit Pages(std::size_t count) : bytes_(count * sizeof(T)) {
    if (count == 0) return;
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) data_ = static_cast<T*>(at);
  }
  ~Pages() {
    if (data_) munmap(static_cast<void*>(data_), bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  explicit operator bool() const { return data_ != nullptr; }
  T* get() { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }

 private:
  T* data_ = nullptr;
  std::size_t bytes_;
};

/// The nodes of a graph, in the driver's order.
class Nodes {
 public:
  explicit Nodes(CUgraph graph) : count_(count(graph)), nodes_(count_) {
    auto ask = SS_DRIVER(cuGraphGetNodes);
    known_ =
        count_ <= kMostGraphNodes && (count_ == 0 || (nodes_ && ask(graph, nodes_.get(), &count_) == CUDA_SUCCESS));
  }
  explicit operator bool() const { return known_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  CUgraphNode operator[](std::size_t i) { return nodes_[i]; }

 private:
  static std::size_t count(CUgraph graph) {
    auto ask = SS_DRIVER(cuGraphGetNodes);
    std::size_t count = 0;
    return ask && ask(graph, nullptr, &count) == CUDA_SUCCESS ? count : kMostGraphNodes + 1;
  }
  std::size_t count_;
  Pages<CUgraphNode> nodes_;
  bool known_;
};

// A fork keeps g_last_image: numbers need only be different from one another.
constinit std::atomic<std::uint64_t> g_last_image{0};

std::uint64_t raw(const void* handle) { return reinterpret_cast<std::uint64_t>(handle); }

/// Writes the nodes of one image.
class Image {
 public:
  explicit Image(std::uint64_t exec) : number(g_last_image.fetch_add(1, std::memory_order_relaxed) + 1), exec_(exec) {}

  const std::uint64_t number;

  /// All of the graph; false: it cannot be read, or there is no room.
  bool graph(CUgraph graph, std::uint64_t parent);

  bool plain(std::uint64_t node, NodeKind what, std::uint64_t object = 0, std::uint64_t bytes = 0);
  template <class Parameters>
  bool kernel(std::uint64_t node, const Parameters& given);
  bool copy(std::uint64_t node, const CUDA_MEMCPY3D& given);
  template <class Parameters>
  bool fill(std::uint64_t node, const Parameters& given);
  template <class Parameters>
  bool operations(std::uint64_t node, const Parameters& given);
  bool child(std::uint64_t node, CUgraph graph);
  bool conditional(std::uint64_t node);

 private:
  Slot start(std::uint64_t node, NodeKind what, unsigned continuations);
  bool read(CUgraphNode node);
  bool edges(CUgraph graph);

  std::uint64_t exec_;
  std::uint64_t parent_ = 0;
};

Slot Image::start(std::uint64_t node, NodeKind what, unsigned continuations) {
  Slot slot = start_record({.kind = trace::Kind::GraphNode, .continuations = continuations});
  if (!slot) return slot;
  auto& w = slot.record->as<trace::Kind::GraphNode>();
  w.image = number;
  w.node = node;
  w.parent = parent_;
  w.what = what;
  return slot;
}

bool Image::plain(std::uint64_t node, NodeKind what, std::uint64_t object, std::uint64_t bytes) {
  Slot slot = start(node, what, 0);
  if (!slot) return false;
  auto& w = slot.record->as<trace::Kind::GraphNode>();
  w.object = object;
  w.bytes = bytes;
  publish(slot);
  return true;
}

template <class Parameters>
bool Image::kernel(std::uint64_t node, const Parameters& given) {
  LaunchCall call{
      .function = raw(given.func),
      .extents = {given.gridDimX, given.gridDimY, given.gridDimZ, given.blockDimX, given.blockDimY, given.blockDimZ},
      .stream = {0, learning() ? current_context() : 0, 0},
      .params = given.kernelParams,
      .extra = given.extra,
      .shared_bytes = given.sharedMemBytes,
      .programmatic = false,
      .api = 0};
  if constexpr (requires { given.kern; }) {
    if (!given.func) call.function = raw(given.kern);
  }
  Launch launch(call);
  launch.prepare_node();
  const Slot slot = start(node, NodeKind::Kernel, 1 + launch.node_continuations());
  if (!slot) return false;
  launch.fill_node(slot.record[1]);
  for (unsigned i = 0; i < launch.pointers(); ++i) keep_pointer_of_graph(exec_, launch.pointer(i));
  publish(slot);
  return true;
}

bool Image::copy(std::uint64_t node, const CUDA_MEMCPY3D& given) {
  const Slot slot = start(node, NodeKind::Copy, 2);
  if (!slot) return false;
  trace::Record& inner = slot.record[1];
  inner.kind = trace::Kind::Copy;
  inner.continuations = 1;
  inner.flags = trace::kAsyncForm;
  auto& w = inner.as<trace::Kind::Copy>();
  auto& shape = *reinterpret_cast<trace::Shape*>(&inner + 1);
  decode_copy_3d(given, w, shape);
  const bool gaps = shape.height > 1 || shape.depth > 1;
  // An array is no memory of the host's: its address is in none of the tables there.
  keep_range_of_graph(exec_, {w.dst, extent(w, shape, shape.dst_pitch, shape.dst_slice), LoanUse::Writes,
                              given.dstMemoryType == CU_MEMORYTYPE_HOST, gaps});
  keep_range_of_graph(exec_, {w.src, extent(w, shape, shape.src_pitch, shape.src_slice), LoanUse::Reads,
                              given.srcMemoryType == CU_MEMORYTYPE_HOST, gaps});
  publish(slot);
  return true;
}

template <class Parameters>
bool Image::fill(std::uint64_t node, const Parameters& given) {
  const Slot slot = start(node, NodeKind::Fill, 1);
  if (!slot) return false;
  trace::Record& inner = slot.record[1];
  inner.kind = trace::Kind::Fill;
  inner.flags = trace::kAsyncForm;
  auto& w = inner.as<trace::Kind::Fill>();
  w.dst = given.dst;
  w.width = given.width * given.elementSize;
  w.height = given.height;
  w.pitch = given.height > 1 ? given.pitch : 0;
  const std::uint64_t bytes = w.width + (given.height > 1 ? (given.height - 1) * given.pitch : 0);
  keep_range_of_graph(exec_, {given.dst, bytes, LoanUse::Writes, false, given.height > 1});
  publish(slot);
  return true;
}

template <class Parameters>
bool Image::operations(std::uint64_t node, const Parameters& given) {
  bool waits = given.paramArray == nullptr;
  for (unsigned i = 0; given.paramArray && i < given.count; ++i) {
    waits |= given.paramArray[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
             given.paramArray[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
  }
  return plain(node, waits ? NodeKind::JoinsAll : NodeKind::Opaque);
}

bool Image::child(std::uint64_t node, CUgraph inside) {
  const std::uint64_t outer = parent_;
  const bool written = plain(node, NodeKind::Child) && (!inside || graph(inside, node));
  parent_ = outer;
  return written;
}

bool Image::conditional(std::uint64_t node) {
  const std::span<const CUgraph> bodies = bodies_of(node);
  if (bodies.empty()) return plain(node, NodeKind::Opaque);
  if (!plain(node, NodeKind::Conditional)) return false;
  const std::uint64_t outer = parent_;
  for (CUgraph body : bodies) {
    // Handles are aligned: the next address is no other's.
    const std::uint64_t handle = raw(body) + 1;
    parent_ = node;
    if (!plain(handle, NodeKind::Body) || !graph(body, handle)) return false;
  }
  parent_ = outer;
  return true;
}

bool Image::read(CUgraphNode node) {
  const std::uint64_t handle = raw(node);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  if (auto ask = SS_DRIVER(cuGraphNodeGetType); !ask || ask(node, &type) != CUDA_SUCCESS)
    return plain(handle, NodeKind::Opaque);
  // Asks for the parameters and writes them, or else that they are not known.
  const auto with = [&](auto ask, auto parameters, auto write) {
    return ask && ask(node, &parameters) == CUDA_SUCCESS ? write(parameters) : plain(handle, NodeKind::Opaque);
  };
  switch (type) {
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return plain(handle, NodeKind::Empty);
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return with(SS_DRIVER(cuGraphKernelNodeGetParams_v2), CUDA_KERNEL_NODE_PARAMS_v2{},
                  [&](const auto& given) { return kernel(handle, given); });
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): the driver fills it
      return with(SS_DRIVER(cuGraphMemcpyNodeGetParams), CUDA_MEMCPY3D{},
                  [&](const auto& given) { return copy(handle, given); });
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return with(SS_DRIVER(cuGraphMemsetNodeGetParams), CUDA_MEMSET_NODE_PARAMS{},
                  [&](const auto& given) { return fill(handle, given); });
    case CU_GRAPH_NODE_TYPE_HOST:
      return plain(handle, NodeKind::Host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return with(SS_DRIVER(cuGraphChildGraphNodeGetGraph), CUgraph{},
                  [&](CUgraph inside) { return child(handle, inside); });
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return with(SS_DRIVER(cuGraphEventRecordNodeGetEvent), CUevent{},
                  [&](CUevent event) { return plain(handle, NodeKind::RecordEvent, raw(event)); });
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return with(SS_DRIVER(cuGraphEventWaitNodeGetEvent), CUevent{},
                  [&](CUevent event) { return plain(handle, NodeKind::WaitEvent, raw(event)); });
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return with(SS_DRIVER(cuGraphMemAllocNodeGetParams), CUDA_MEM_ALLOC_NODE_PARAMS{},
                  [&](const auto& given) { return plain(handle, NodeKind::Alloc, given.dptr, given.bytesize); });
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return with(SS_DRIVER(cuGraphMemFreeNodeGetParams), CUdeviceptr{},
                  [&](CUdeviceptr given) { return plain(handle, NodeKind::Free, given); });
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return with(SS_DRIVER(cuGraphBatchMemOpNodeGetParams), CUDA_BATCH_MEM_OP_NODE_PARAMS{},
                  [&](const auto& given) { return operations(handle, given); });
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return plain(handle, NodeKind::JoinsAll);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return conditional(handle);
    default:
      return plain(handle, NodeKind::Opaque);
  }
}

bool Image::edges(CUgraph graph) {
  auto ask = SS_DRIVER(cuGraphGetEdges_v2);
  auto ask_plain = SS_DRIVER(cuGraphGetEdges);
  const auto get = [&](CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count) {
    if (ask) return ask(graph, from, to, data, count) == CUDA_SUCCESS;
    return ask_plain && ask_plain(graph, from, to, count) == CUDA_SUCCESS;
  };
  std::size_t count = 0;
  if (!get(nullptr, nullptr, nullptr, &count)) return false;
  if (count == 0) return true;
  Pages<CUgraphNode> from(count);
  Pages<CUgraphNode> to(count);
  Pages<CUgraphEdgeData> data(count);
  if (!from || !to || !data || !get(from.get(), to.get(), data.get(), &count)) return false;
  for (std::size_t first = 0; first < count;) {
    const std::size_t some = std::min(count - first, trace::kMostEdgesPerRecord);
    constexpr auto kKind = trace::Kind::GraphEdges;
    const Slot slot = start_record({.kind = kKind, .continuations = continuations_of_list<kKind>(some)});
    if (!slot) return false;
    auto& w = slot.record->as<kKind>();
    w.image = number;
    w.edges = some;
    trace::Edge* edge = slot.list<kKind>();
    for (std::size_t i = first; i < first + some; ++i) {
      const bool programmatic = data[i].type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
      *edge++ = trace::Edge::of(raw(from[i]), raw(to[i]), programmatic, data[i].from_port & 0x7fu);
    }
    publish(slot);
    first += some;
  }
  return true;
}

bool Image::graph(CUgraph graph, std::uint64_t parent) {
  Nodes nodes(graph);
  if (!nodes) return false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    parent_ = parent;
    if (!read(nodes[i])) return false;
  }
  return edges(graph);
}

CUgraph graph_in(CUgraphNode node) {
  auto ask = SS_DRIVER(cuGraphChildGraphNodeGetGraph);
  CUgraph inside = nullptr;
  return ask && ask(node, &inside) == CUDA_SUCCESS ? inside : nullptr;
}

void write_made(std::uint64_t node, std::uint64_t like, std::uint16_t api, std::uint32_t stack) {
  Slot slot = start_record({.kind = trace::Kind::NodeMade, .api = api, .stack = stack});
  if (!slot) return;
  auto& w = slot.record->as<trace::Kind::NodeMade>();
  w.node = node;
  w.like = like;
  publish(slot);
}

/// The node that was made last of a stream that is being captured; nullptr: it is not, or several come first.
CUgraphNode last_captured(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  const CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  if (auto ask = SS_DRIVER(cuStreamGetCaptureInfo_v3)) {
    // Without a place for the data the driver refuses edges that have some.
    const CUgraphEdgeData* data = nullptr;
    if (ask(stream, &status, &id, nullptr, &nodes, &data, &count) != CUDA_SUCCESS) return nullptr;
  } else if (auto ask_v2 = SS_DRIVER(cuStreamGetCaptureInfo_v2);
             !ask_v2 || ask_v2(stream, &status, &id, nullptr, &nodes, &count) != CUDA_SUCCESS) {
    return nullptr;
  }
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE && nodes && count == 1 ? nodes[0] : nullptr;
}

template <class Write>
std::uint64_t one_node(std::uint64_t exec, Write write) {
  Image image(exec);
  return write(image) ? image.number : 0;
}

}  // namespace

std::uint64_t write_graph_image(std::uint64_t graph, std::uint64_t exec, bool fresh) {
  if (fresh) forget_memory_of_graph(exec);
  Image image(exec);
  return image.graph(reinterpret_cast<CUgraph>(graph), 0) ? image.number : 0;
}

std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_KERNEL_NODE_PARAMS_v1* kernel) {
  return one_node(exec, [&](Image& image) { return image.kernel(node, *kernel); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_KERNEL_NODE_PARAMS_v2* kernel) {
  return one_node(exec, [&](Image& image) { return image.kernel(node, *kernel); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_MEMCPY3D* copy) {
  return one_node(exec, [&](Image& image) { return image.copy(node, *copy); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_MEMSET_NODE_PARAMS* fill) {
  return one_node(exec, [&](Image& image) { return image.fill(node, *fill); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_HOST_NODE_PARAMS*) {
  return one_node(exec, [&](Image& image) { return image.plain(node, NodeKind::Host); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node,
                               const CUDA_BATCH_MEM_OP_NODE_PARAMS* operations) {
  return one_node(exec, [&](Image& image) { return image.operations(node, *operations); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS*) {
  return one_node(exec, [&](Image& image) { return image.plain(node, NodeKind::Opaque); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUDA_EXT_SEM_WAIT_NODE_PARAMS*) {
  return one_node(exec, [&](Image& image) { return image.plain(node, NodeKind::JoinsAll); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, CUgraph child) {
  return one_node(exec, [&](Image& image) { return image.child(node, child); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, CUevent event) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  auto ask = SS_DRIVER(cuGraphNodeGetType);
  if (!ask || ask(reinterpret_cast<CUgraphNode>(node), &type) != CUDA_SUCCESS) return 0;
  const NodeKind what = type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ? NodeKind::RecordEvent : NodeKind::WaitEvent;
  return one_node(exec, [&](Image& image) { return image.plain(node, what, raw(event)); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, unsigned enabled) {
  return one_node(exec,
                  [&](Image& image) { return image.plain(node, enabled ? NodeKind::Enabled : NodeKind::Disabled); });
}
std::uint64_t write_node_image(std::uint64_t exec, std::uint64_t node, const CUgraphNodeParams* any) {
  return one_node(exec, [&](Image& image) {
    switch (any->type) {
      case CU_GRAPH_NODE_TYPE_KERNEL:
        return image.kernel(node, any->kernel);
      case CU_GRAPH_NODE_TYPE_MEMCPY:
        return image.copy(node, any->memcpy.copyParams);
      case CU_GRAPH_NODE_TYPE_MEMSET:
        return image.fill(node, any->memset);
      case CU_GRAPH_NODE_TYPE_HOST:
        return image.plain(node, NodeKind::Host);
      case CU_GRAPH_NODE_TYPE_GRAPH:
        return image.child(node, any->graph.graph);
      case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return image.plain(node, NodeKind::RecordEvent, raw(any->eventRecord.event));
      case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return image.plain(node, NodeKind::WaitEvent, raw(any->eventWait.event));
      case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return image.operations(node, any->memOp);
      case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return image.plain(node, NodeKind::JoinsAll);
      default:
        return image.plain(node, NodeKind::Opaque);
    }
  });
}

void note_node(std::uint64_t node, std::uint16_t api, std::uint32_t stack) { write_made(node, 0, api, stack); }

void note_copies(std::uint64_t original, std::uint64_t copy) {
  Nodes from(reinterpret_cast<CUgraph>(original));
  Nodes to(reinterpret_cast<CUgraph>(copy));
  // Copies of the nodes come in the order of the nodes (measured).
  if (!from || !to || from.size() != to.size()) return;
  for (std::size_t i = 0; i < to.size(); ++i) {
    write_made(raw(to[i]), raw(from[i]), 0, 0);
    const CUgraph inside = graph_in(from[i]);
    const CUgraph inside_copy = inside ? graph_in(to[i]) : nullptr;
    if (inside_copy) note_copies(raw(inside), raw(inside_copy));
  }
}

void note_child(std::uint64_t original, std::uint64_t node) {
  const CUgraph inside = graph_in(reinterpret_cast<CUgraphNode>(node));
  if (inside) note_copies(original, raw(inside));
}

void note_captured(StreamArgument stream, std::uint16_t api, const void* frame) {
  const CUgraphNode node = last_captured(reinterpret_cast<CUstream>(stream.handle));
  if (node) note_node(raw(node), api, capture_stack(frame));
}

}  // namespace streamsan::recorder
