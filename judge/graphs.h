// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executable graphs of a trace: from the records of nodes and edges to the graphs of the model (ordering/graph.h).
//
// An image (records GraphNode and GraphEdges) holds the nodes and edges of a graph when it is instantiated, or updated
// as a whole. An image with some of the nodes holds what one call changes in these. Nodes are found by the handles that
// they have in the graph from which the executable graph was made. After an update as a whole by another graph the
// program still uses the handles of the first graph: the nodes of the two are matched in order, if there are equally
// many.
//
// A child graph becomes two nodes that do nothing, its beginning and its end, with its nodes in between (R-GRF-25). A
// node that is disabled does nothing and keeps its edges (R-GRF-24). A conditional node has its bodies in between, one
// behind the other, each like a child graph; what is inside is conditional (R-GRF-27). Bodies can hold no memory or
// event nodes; if a later driver allows memory nodes there, they are left out: a fault may be missed.
//
// WHERE A NODE WAS MADE stands in a record of its own (NodeMade), which comes before the image. A node without one was
// made where the child graph that holds it was added, or else where the graph was instantiated.
//
// The trace does not say when an executable graph ends; a handle that is used again replaces the old graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "judge/handles.h"
#include "judge/places.h"
#include "ordering/flat_map.h"
#include "ordering/graph.h"
#include "trace/reader.h"

namespace streamsan::judge {

/// A kernel launched with arguments.
struct LaunchedKernel {
  std::uint32_t index = 0;  ///< 0: none
  std::uint64_t hash = 0;
};

class Graphs {
 public:
  /// What a kernel makes of the one in front of it, if it may begin before that has ended.
  using Depend = std::function<ordering::Dependence(LaunchedKernel front, LaunchedKernel here)>;

  Graphs(Handles& handles, Places& places, Depend depend)
      : handles_(handles), places_(places), depend_(std::move(depend)) {}

  /// A record NodeMade.
  void made(const trace::Record& record);
  /// A record GraphNode; `node` has what the record that it holds says, if there is one.
  void add_node(const trace::Record& record, ordering::GraphNode node);
  void add_edges(const trace::Item& item);

  /// Valid until the next record.
  struct Exec {
    std::uint64_t key = 0;                   ///< unique for its life
    const ordering::Graph* graph = nullptr;  ///< nullptr: not known
    bool changed = false;                    ///< it has to be checked: it is new, or was updated
    ordering::SiteId created{};              ///< where; kNoSite: not known
  };
  /// A record GraphInstantiate; `created`: the place of that call.
  Exec instantiate(const trace::Record& record, ordering::SiteId created);
  /// A record GraphUpdate; false: the graph is not known. It is made anew when it is launched: a program may update
  /// many nodes, each by a call of its own.
  bool update(const trace::Record& record);
  /// The executable graph of a raw handle, also of one that was never met.
  Exec exec(std::uint64_t raw);
  /// Have images been seen at all? Older recorders write none.
  [[nodiscard]] bool seen_images() const { return seen_images_; }

 private:
  struct Node {
    std::uint64_t handle = 0;
    std::uint64_t parent = 0;
    bool is_child = false;  ///< it has nodes of its own: a child graph, a conditional node, or a body of one
    bool disabled = false;
    trace::NodeKind what = trace::NodeKind::Empty;
    ordering::GraphNode node;
  };
  struct Edge {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    bool programmatic = false;
    unsigned port = 0;
  };
  struct Image {
    std::vector<Node> nodes;
    std::vector<Edge> edges;
  };
  struct Known {
    std::uint64_t key = 0;
    std::optional<Image> image;
    ordering::Graph graph;
    bool stale = false;  ///< the image has changed since
    ordering::SiteId created{};
  };
  struct Made {
    std::uint16_t api = 0;
    std::uint32_t stack = 0;
  };

  Image take(std::uint64_t number);
  Known& known(std::uint64_t raw);
  static void change(Image& image, Image&& changed);
  /// Makes the graph of the image.
  void build(Known& exec);
  /// Marks what is in the bodies of conditional nodes.
  static void mark_conditional(const Image& image, std::vector<ordering::GraphNode>& nodes);
  /// Says where the nodes were made. `made`: the place of those that have none.
  void place(Image& image, Made made);

  Handles& handles_;
  Places& places_;
  Depend depend_;
  bool seen_images_ = false;
  ordering::FlatMap<Made> made_;            ///< by handle of the node
  ordering::FlatMap<Image> images_;         ///< by number, until they are used
  ordering::FlatMap<std::uint32_t> index_;  ///< by raw handle, plus one
  std::vector<Known> execs_;
  std::uint64_t next_key_ = 1;
};

}  // namespace streamsan::judge
