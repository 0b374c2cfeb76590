// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An executable graph: its nodes, what they touch, and the edges between them. A partial order that is made once and
// launched many times.
//
// It is looked at twice:
//
//   INSIDE, once for each instantiation and each update (check_graph). Two nodes without a path between them may run
//   side by side (R-GRF-23); if what they touch conflicts, each launch has that race. The graph is run in a model of
//   its own: its nodes are divided into chains, each of which is a stream, and an edge from chain to chain is an event.
//   So a conflict inside of a graph is judged as one between streams, by the same code.
//
//   OUTSIDE, at each launch (Model::graph_launch). A launch is one step of its stream, and of the sequence of the
//   launches of this executable graph (R-GRF-35). Its accesses are those of all nodes, each of which remembers its
//   node. They are compared with everything that is not part of this launch; among themselves they count as ordered.
//
// Three kinds of nodes divide the step, because somebody outside sees a part of it:
//   * a node that records an event (R-GRF-30): who waits for the event comes after the nodes before that one, and not
//     after the others. So the step has parts, each with an epoch of its own; the first holds what comes before the
//     first record, and so on. Of records that are not ordered among themselves, the second counts as after the first:
//     that is more order, and may hide a race.
//   * a node that waits for an event (R-GRF-31) puts only what comes behind it after that event. The event is what it
//     is when the graph is launched.
//   * memory of a graph (R-GRF-45) begins and ends in the order of the nodes, anew at each launch.
//
// A CONDITIONAL NODE (R-GRF-27) runs its bodies any number of times, one after the other, as the device decides.
// Whoever makes the graph puts the nodes of the bodies between a beginning and an end, like those of a child graph, one
// body after the other: at most one of them runs at a time. Each is marked as conditional. So the order through the
// node as a whole is sure, and a conflict with what is inside is possible, whatever else is known.
//
// WHAT IS LOST, towards silence: a graph with more than kMostChains parallel chains gets more order inside than it has;
// past kMostWaits waits for events all nodes come after the event; of two nodes that use the same bytes, each behind a
// wait for another event (or one behind none, and in a later part), the second may hide what the first had to be
// compared with; a programmatic edge (R-GRF-21) is a full edge unless it is the only one that leads to its node, and
// for everything outside of the graph; inside of a body it is a full edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ordering/hazard.h"
#include "ordering/model.h"
#include "ordering/types.h"

namespace streamsan::ordering {

struct GraphNode {
  enum class Kind : std::uint8_t {
    Nothing,  ///< touches nothing: empty, disabled, or not known
    Kernel,   ///< shape, pointers, bytes
    Copy,     ///< dst, src
    Fill,     ///< dst
    HostFunction,
    RecordEvent,  ///< event
    WaitEvent,    ///< event
    Allocate,     ///< memory
    Free,         ///< where memory begins
    JoinsAll,     ///< may wait for anything: the launch comes after everything submitted so far
  };
  Kind kind = Kind::Nothing;
  SiteId site{};  ///< where it was captured or added
  LaunchShape shape{};
  std::vector<PointerArgument> pointers{};
  std::vector<KernelBytes> bytes{};
  Footprint dst{};
  Footprint src{};
  EventId event{};
  Range memory{};
  std::vector<std::uint32_t> after{};  ///< indices of nodes, each smaller than its own
  std::uint32_t number = 0;            ///< for reports, from 1 in the order of creation; 0: none
  bool conditional = false;            ///< in the body of a conditional node: it may never run
};

/// How a launch runs the nodes. It follows from the nodes alone, and is made once for all launches.
struct LaunchPlan {
  struct Step {
    std::uint32_t node = 0;
    std::uint32_t part = 0;   ///< 0 comes before the first record of an event, and so on; they ascend
    std::uint64_t waits = 0;  ///< which of `events` it comes after, one bit each
  };
  std::vector<Step> steps;       ///< nodes that touch memory or record an event
  std::uint32_t parts = 1;       ///< how many
  std::vector<EventId> events;   ///< that nodes wait for
  std::vector<EventId> always;   ///< those that there are no bits for: all nodes come after them
  std::vector<EventId> records;  ///< that nodes record, each as often as it is recorded
  bool joins_all = false;
  bool host_code = false;  ///< there are host functions
};

/// Never changes: an update makes another one.
class Graph {
 public:
  static constexpr std::size_t kMostChains = 512;
  static constexpr std::size_t kMostWaits = 64;

  Graph() = default;
  /// The nodes in an order that the edges allow.
  explicit Graph(std::vector<GraphNode> nodes);

  [[nodiscard]] const std::vector<GraphNode>& nodes() const { return nodes_; }
  [[nodiscard]] const LaunchPlan& plan() const { return plan_; }

 private:
  std::vector<GraphNode> nodes_;
  LaunchPlan plan_;
};

/// Reports the hazards inside of one launch of the graph. Memory is that of `world`, as it is now. The accesses of the
/// hazards have no operation and no stream, but a node; the explanation is NearestEdge::NoPathInGraph.
void check_graph(const Graph& graph, const Model& world, HazardSink& sink);

}  // namespace streamsan::ordering
