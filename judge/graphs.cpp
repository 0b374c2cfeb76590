// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/graphs.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace streamsan::judge {
namespace {

using ordering::GraphNode;
using trace::Kind;
using trace::NodeKind;
using trace::Record;

/// An image of which no graph is made, or that a damaged trace has made absurd, must not use up memory.
constexpr std::size_t kMostImages = 64;

GraphNode::Kind kind_of(NodeKind what) {
  switch (what) {
    case NodeKind::Kernel:
      return GraphNode::Kind::Kernel;
    case NodeKind::Copy:
      return GraphNode::Kind::Copy;
    case NodeKind::Fill:
      return GraphNode::Kind::Fill;
    case NodeKind::Host:
      return GraphNode::Kind::HostFunction;
    case NodeKind::RecordEvent:
      return GraphNode::Kind::RecordEvent;
    case NodeKind::WaitEvent:
      return GraphNode::Kind::WaitEvent;
    case NodeKind::Alloc:
      return GraphNode::Kind::Allocate;
    case NodeKind::Free:
      return GraphNode::Kind::Free;
    case NodeKind::JoinsAll:
      return GraphNode::Kind::JoinsAll;
    case NodeKind::Empty:
    case NodeKind::Child:
    case NodeKind::Opaque:
    case NodeKind::Disabled:
    case NodeKind::Enabled:
    case NodeKind::Conditional:
    case NodeKind::Body:
      break;
  }
  return GraphNode::Kind::Nothing;
}

/// Memory begins as early as its edges allow, and ends as late: what has no order with the end of memory is then
/// compared with it as with any other access, and does not look as if it came after the end.
int rank(const GraphNode& node) {
  if (node.kind == GraphNode::Kind::Allocate) return 0;
  return node.kind == GraphNode::Kind::Free ? 2 : 1;
}

/// Puts the nodes in an order that their edges allow; what has none, in a damaged trace, is left out.
void sort(std::vector<GraphNode>& nodes) {
  std::vector<std::vector<std::uint32_t>> behind(nodes.size());
  std::vector<std::uint32_t> missing(nodes.size());
  using Ready = std::tuple<int, std::uint32_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    missing[i] = static_cast<std::uint32_t>(nodes[i].after.size());
    for (const std::uint32_t before : nodes[i].after) behind[before].push_back(i);
    if (missing[i] == 0) ready.emplace(rank(nodes[i]), i);
  }
  std::vector<std::uint32_t> place(nodes.size());
  std::vector<GraphNode> sorted;
  sorted.reserve(nodes.size());
  while (!ready.empty()) {
    const std::uint32_t next = std::get<1>(ready.top());
    ready.pop();
    place[next] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(nodes[next]));
    for (std::uint32_t& before : sorted.back().after) before = place[before];
    for (const std::uint32_t each : behind[next]) {
      if (--missing[each] == 0) ready.emplace(rank(nodes[each]), each);
    }
  }
  nodes = std::move(sorted);
}

bool has_nodes(NodeKind what) {
  return what == NodeKind::Child || what == NodeKind::Conditional || what == NodeKind::Body;
}

}  // namespace

void Graphs::made(const Record& record) {
  const auto& w = record.as<Kind::NodeMade>();
  if (w.like == 0) {
    made_[w.node] = {record.api, record.stack};
    return;
  }
  const Made* like = made_.find(w.like);
  if (!like) {
    made_.erase(w.node);
    return;
  }
  const Made copy = *like;
  made_[w.node] = copy;
}

void Graphs::add_node(const Record& record, GraphNode node) {
  seen_images_ = true;
  const auto& w = record.as<Kind::GraphNode>();
  const auto what = static_cast<NodeKind>(w.what);
  if (images_.size() >= kMostImages && !images_.find(w.image)) images_.clear();
  Node& added = images_[w.image].nodes.emplace_back();
  added.handle = w.node & trace::kEdgeNode;
  added.parent = w.parent & trace::kEdgeNode;
  added.is_child = has_nodes(what);
  added.what = what;
  added.node = std::move(node);
  added.node.kind = kind_of(what);
  switch (added.node.kind) {
    case GraphNode::Kind::RecordEvent:
    case GraphNode::Kind::WaitEvent:
      added.node.event = handles_.event(w.object);
      break;
    case GraphNode::Kind::Allocate:
    case GraphNode::Kind::Free:
      added.node.memory = {w.object, w.object + std::max<std::uint64_t>(w.bytes, 1)};
      if (added.node.memory.empty()) added.node.kind = GraphNode::Kind::Nothing;
      break;
    case GraphNode::Kind::Kernel:
    case GraphNode::Kind::Copy:
    case GraphNode::Kind::Fill:
      if (record.continuations == 0) added.node.kind = GraphNode::Kind::Nothing;
      break;
    default:
      break;
  }
}

void Graphs::add_edges(const trace::Item& item) {
  const auto& w = item.record->as<Kind::GraphEdges>();
  Image* image = images_.find(w.image);
  if (!image) return;
  for (const trace::Edge& edge : item.list<Kind::GraphEdges>())
    image->edges.push_back(
        {.from = edge.from(), .to = edge.to(), .programmatic = edge.programmatic(), .port = edge.port()});
}

Graphs::Image Graphs::take(std::uint64_t number) {
  Image* image = images_.find(number);
  if (!image) return {};
  Image out = std::move(*image);
  images_.erase(number);
  return out;
}

Graphs::Known& Graphs::known(std::uint64_t raw) {
  std::uint32_t& index = index_[raw];
  if (index == 0) {
    execs_.emplace_back().key = next_key_++;
    index = static_cast<std::uint32_t>(execs_.size());
  }
  return execs_[index - 1];
}

Graphs::Exec Graphs::exec(std::uint64_t raw) {
  Known& exec = known(raw);
  const bool changed = std::exchange(exec.stale, false) && exec.image;
  if (changed) build(exec);
  return {exec.key, exec.image ? &exec.graph : nullptr, changed, exec.created};
}

Graphs::Exec Graphs::instantiate(const Record& record, ordering::SiteId created) {
  const auto& w = record.as<Kind::GraphInstantiate>();
  Known& fresh = known(w.exec);
  fresh = {};
  fresh.key = next_key_++;
  fresh.created = created;
  if (w.image != 0) {
    fresh.image = take(w.image);
    fresh.stale = true;
    place(*fresh.image, {record.api, record.stack});
  }
  return exec(w.exec);
}

bool Graphs::update(const Record& record) {
  const auto& w = record.as<Kind::GraphUpdate>();
  Known& exec = known(w.exec);
  Image changed = take(w.image);
  place(changed, {record.api, record.stack});
  exec.stale = true;
  if (w.image == 0) {
    exec.image.reset();
  } else if (w.whole == 0) {
    if (exec.image) change(*exec.image, std::move(changed));
  } else if (exec.image && exec.image->nodes.size() == changed.nodes.size()) {
    // The edges, too, are those of the same nodes.
    for (std::size_t i = 0; i < changed.nodes.size(); ++i) {
      Node& node = exec.image->nodes[i];
      node.what = changed.nodes[i].what;
      node.node = std::move(changed.nodes[i].node);
    }
  } else {
    exec.image = std::move(changed);
  }
  return exec.image.has_value();
}

void Graphs::change(Image& image, Image&& changed) {
  if (changed.nodes.empty()) return;
  const auto find = [&](std::uint64_t handle) {
    return std::find_if(image.nodes.begin(), image.nodes.end(), [&](const Node& n) { return n.handle == handle; });
  };
  const auto node = find(changed.nodes.front().handle);
  if (node == image.nodes.end()) return;
  const NodeKind what = changed.nodes.front().what;
  if (what == NodeKind::Disabled || what == NodeKind::Enabled) {
    node->disabled = what == NodeKind::Disabled;
    return;
  }
  if (!node->is_child) {
    // It stays where it was made, but its parameters come from here.
    node->what = what;
    node->node = std::move(changed.nodes.front().node);
    return;
  }
  // The nodes of a child graph follow it, in the order of the graph that takes its place.
  const auto room = static_cast<std::size_t>(image.nodes.end() - node);
  for (std::size_t i = 1; i < std::min(room, changed.nodes.size()); ++i) {
    (node + static_cast<std::ptrdiff_t>(i))->what = changed.nodes[i].what;
    (node + static_cast<std::ptrdiff_t>(i))->node = std::move(changed.nodes[i].node);
  }
}

void Graphs::place(Image& image, Made made) {
  std::unordered_map<std::uint64_t, Made> parents;
  for (Node& each : image.nodes) {
    if (each.node.site != ordering::kNoSite) continue;
    const auto parent = parents.find(each.parent);
    const Made* own = made_.find(each.handle);
    const Made at = own ? *own : parent != parents.end() ? parent->second : made;
    if (each.is_child) parents[each.handle] = at;
    const auto kernel = each.what == NodeKind::Kernel ? static_cast<std::uint32_t>(each.node.shape.function) : 0;
    each.node.site = places_.site(at.api, kernel, at.stack);
  }
}

void Graphs::mark_conditional(const Image& image, std::vector<GraphNode>& nodes) {
  std::unordered_set<std::uint64_t> around;  // those whose nodes are conditional
  for (std::size_t i = 0; i < image.nodes.size(); ++i) {
    const Node& each = image.nodes[i];
    const bool inside = around.contains(each.parent);
    if (each.is_child && (inside || each.what == NodeKind::Body)) around.insert(each.handle);
    if (!inside) continue;
    nodes[i].conditional = true;
    if (nodes[i].kind == GraphNode::Kind::Allocate || nodes[i].kind == GraphNode::Kind::Free)
      nodes[i].kind = GraphNode::Kind::Nothing;
  }
}

void Graphs::build(Known& exec) {
  const Image& image = *exec.image;
  std::uint32_t number = 0;
  std::vector<GraphNode> nodes;
  std::unordered_map<std::uint64_t, std::uint32_t> index;  // of the node, or of the beginning of a child graph
  std::unordered_map<std::uint64_t, std::uint32_t> ends;   // of child graphs
  for (const Node& each : image.nodes) {
    index[each.handle] = static_cast<std::uint32_t>(nodes.size());
    GraphNode& node = nodes.emplace_back(each.node);
    if (each.what != NodeKind::Body) node.number = ++number;
    node.after.clear();
    node.shape.dependence = {};
    if (each.disabled) node.kind = GraphNode::Kind::Nothing;
    const EventLife* life = node.kind == GraphNode::Kind::WaitEvent ? handles_.life(node.event) : nullptr;
    if (life && life->foreign) node.kind = GraphNode::Kind::JoinsAll;
  }
  mark_conditional(image, nodes);
  for (const Node& each : image.nodes) {
    if (!each.is_child) continue;
    ends[each.handle] = static_cast<std::uint32_t>(nodes.size());
    nodes.emplace_back().after.push_back(index[each.handle]);
  }
  std::vector<bool> has_successor(nodes.size());
  for (const Edge& edge : image.edges) {
    const auto from = index.find(edge.from);
    const auto to = index.find(edge.to);
    if (from == index.end() || to == index.end()) continue;
    const auto end = ends.find(edge.from);
    const std::uint32_t before = end == ends.end() ? from->second : end->second;
    has_successor[from->second] = true;
    GraphNode& node = nodes[to->second];
    node.after.push_back(before);
    const GraphNode& front = nodes[before];
    if (!edge.programmatic || node.after.size() != 1 || node.kind != GraphNode::Kind::Kernel ||
        front.kind != GraphNode::Kind::Kernel) {
      node.shape.dependence = {};
      continue;
    }
    node.shape.dependence = depend_({static_cast<std::uint32_t>(front.shape.function), front.shape.arguments_hash},
                                    {static_cast<std::uint32_t>(node.shape.function), node.shape.arguments_hash});
    constexpr unsigned kLaunchOrder = 2;  // CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER
    if (edge.port == kLaunchOrder) node.shape.dependence.front = ordering::Trigger::Early;
  }
  std::unordered_map<std::uint64_t, std::uint32_t> last_bodies;  // of conditional nodes: the end of the last body
  for (const Node& each : image.nodes) {
    const auto begin = index.find(each.parent);
    const auto end = ends.find(each.parent);
    if (each.parent == 0 || begin == index.end() || end == ends.end()) continue;
    if (each.what == NodeKind::Body) {
      // One of them runs at a time.
      const auto [last, first] = last_bodies.try_emplace(each.parent, begin->second);
      nodes[index[each.handle]].after.push_back(last->second);
      last->second = ends[each.handle];
    }
    const std::uint32_t self = index[each.handle];
    const auto own_end = ends.find(each.handle);
    if (nodes[self].after.empty()) nodes[self].after.push_back(begin->second);
    if (!has_successor[self]) nodes[end->second].after.push_back(own_end == ends.end() ? self : own_end->second);
  }
  sort(nodes);
  exec.graph = ordering::Graph(std::move(nodes));
}

}  // namespace streamsan::judge
