// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check of a graph by itself. See graph.h.
#include "ordering/graph.h"

#include <optional>

#include "ordering/rows.h"

namespace streamsan::ordering {
namespace {

constexpr ContextId kContext{1};
constexpr ThreadId kThread{1};

/// The memory that nodes touch, as far as the world knows it, in a model of its own.
class Memory {
 public:
  Memory(const Model& world, Model& model) : world_(world), model_(model) {}

  void take(Address address) {
    if (address) take(Range{address, address + 1});
  }
  void take(const Footprint& bytes) {
    if (bytes.base != 0 && bytes.width != 0) take(hull(bytes));
  }

 private:
  void take(Range range) {
    world_.visit_memory(range, [this](const AllocationInfo& known) {
      const Address begin = known.range.begin;
      if (known.block) {
        if (!model_.find_block(begin)) model_.block_allocate_without_stream({known.thread, known.site}, known.range);
      } else if (!model_.find_allocation(begin)) {
        model_.allocate({known.thread, known.site}, known.range, known.kind, kContext);
      }
    });
  }

  const Model& world_;
  Model& model_;
};

/// Hands hazards on, with the names of nodes in place of those of the model that runs the graph.
class OfNodes final : public HazardSink {
 public:
  OfNodes(const Graph& graph, const Model& world, HazardSink& sink) : graph_(graph), world_(world), sink_(sink) {}

  void made(OpId op, std::uint32_t node) {
    if (nodes_.size() <= static_cast<std::size_t>(op)) nodes_.resize(static_cast<std::size_t>(op) + 1);
    nodes_[static_cast<std::size_t>(op)] = node + 1;
  }
  /// The node that is being run: its operation has no number yet when it is compared.
  void runs(std::uint32_t node) { now_ = node; }

  void hazard(const Hazard& found) override {
    Hazard hazard = found;
    name(hazard.earlier, node_of(found.earlier.op));
    name(hazard.later, now_);
    hazard.explanation = {};
    if (hazard.kind != HazardKind::UseAfterFree) hazard.explanation.nearest = NearestEdge::NoPathInGraph;
    const Address begin = hazard.allocation.range.begin;
    const AllocationInfo* known = hazard.allocation.block ? world_.find_block(begin) : world_.find_allocation(begin);
    if (known) hazard.allocation = *known;
    sink_.hazard(hazard);
  }

 private:
  [[nodiscard]] std::uint32_t node_of(OpId op) const {
    const std::uint32_t known = static_cast<std::size_t>(op) < nodes_.size() ? nodes_[static_cast<std::size_t>(op)] : 0;
    return known == 0 ? now_ : known - 1;
  }
  void name(Access& access, std::uint32_t node) const {
    access.op = kNoOp;
    access.stream = {};
    access.node = graph_.nodes()[node].number;
  }

  const Graph& graph_;
  const Model& world_;
  HazardSink& sink_;
  std::vector<std::uint32_t> nodes_;  ///< by operation, plus one
  std::uint32_t now_ = 0;
};

/// The chains of a graph, each a stream of the model.
class Chains {
 public:
  Chains(const Graph& graph, Model& model) : model_(model), chain_(graph.nodes().size()) {
    for (std::uint32_t i = 0; i < graph.nodes().size(); ++i) {
      const std::optional<std::uint32_t> behind = tail_among(graph.nodes()[i].after);
      chain_[i] = behind ? chain_[*behind] : open();
      tails_[chain_[i]] = i;
    }
  }
  [[nodiscard]] std::uint32_t chain(std::uint32_t node) const { return chain_[node]; }
  [[nodiscard]] StreamId stream(std::uint32_t node) const { return streams_[chain_[node]]; }

 private:
  [[nodiscard]] std::optional<std::uint32_t> tail_among(const std::vector<std::uint32_t>& nodes) const {
    for (const std::uint32_t node : nodes) {
      if (tails_[chain_[node]] == node) return node;
    }
    return std::nullopt;
  }
  std::uint32_t open() {
    if (streams_.size() == Graph::kMostChains) return 0;
    streams_.push_back(model_.create_stream(kContext, StreamKind::NonBlocking));
    tails_.push_back(0);
    return static_cast<std::uint32_t>(streams_.size() - 1);
  }

  Model& model_;
  std::vector<std::uint32_t> chain_;  ///< by node
  std::vector<StreamId> streams_;     ///< by chain
  std::vector<std::uint32_t> tails_;  ///< by chain: its last node so far
};

bool only_orders(GraphNode::Kind kind) {
  using Kind = GraphNode::Kind;
  return kind == Kind::Nothing || kind == Kind::HostFunction || kind == Kind::RecordEvent || kind == Kind::WaitEvent ||
         kind == Kind::JoinsAll;
}

OpId run(Model& model, StreamId stream, const GraphNode& node) {
  const Call call{kThread, node.site};
  if (node.conditional) return model.conditional_node(call, stream, node);
  switch (node.kind) {
    case GraphNode::Kind::Kernel:
      return model.launch(call, stream, node.shape, node.pointers, node.bytes);
    case GraphNode::Kind::Copy: {
      const OpId op = model.copy(call, stream, node.dst, node.src, Form::Asynchronous);
      model.returned(kThread, false);
      return op;
    }
    case GraphNode::Kind::Fill: {
      const OpId op = model.fill(call, stream, node.dst, Form::Asynchronous);
      model.returned(kThread, false);
      return op;
    }
    case GraphNode::Kind::Free:
      return model.free_async(call, stream, node.memory.begin);
    default:
      return kNoOp;
  }
}

}  // namespace

void check_graph(const Graph& graph, const Model& world, HazardSink& sink) {
  OfNodes relay(graph, world, sink);
  Model model({}, relay);
  Memory memory(world, model);
  const Chains chains(graph, model);
  const std::vector<GraphNode>& nodes = graph.nodes();
  std::vector<EventId> done(nodes.size());  ///< of nodes that another chain comes behind
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint32_t before : nodes[i].after) {
      if (chains.chain(before) == chains.chain(i) || done[before] != EventId{}) continue;
      done[before] = model.create_event(EventTiming::Off);  // R-LCH-02g: kernels may overlap across it
    }
  }
  for (const GraphNode& node : nodes) {
    memory.take(node.dst);
    memory.take(node.src);
    for (const PointerArgument& pointer : node.pointers) memory.take(pointer.address);
    for (const KernelBytes& known : node.bytes) memory.take(known.bytes);
    if (node.kind == GraphNode::Kind::Free) memory.take(node.memory.begin);
  }
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const GraphNode& node = nodes[i];
    const StreamId stream = chains.stream(i);
    relay.runs(i);
    for (const std::uint32_t before : node.after) {
      if (chains.chain(before) != chains.chain(i)) model.wait_event({kThread, node.site}, stream, done[before]);
    }
    if (node.kind == GraphNode::Kind::Allocate) {
      model.allocate_async({kThread, node.site}, stream, node.memory);
      relay.made(OpId{model.statistics().operations}, i);
    } else if (!only_orders(node.kind)) {
      const OpId op = run(model, stream, node);
      if (op != kNoOp) relay.made(op, i);
    }
    if (done[i] != EventId{}) model.record_event({kThread, node.site}, stream, done[i]);
  }
}

}  // namespace streamsan::ordering
