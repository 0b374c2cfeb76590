// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inside of a graph by itself: nodes that overlap by a programmatic edge, with other chains beside them. The launch of
// graphs, and what is read back from the driver, is tested by testsuite/runtime/graphs.
#include "ordering/graph.h"

#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class InsideGraph : public Program {
 protected:
  Address a = memory();
  Address b = memory();
  Graph graph;

  std::uint32_t add(AccessMode mode, Address base, std::vector<std::uint32_t> after,
                    const Dependence& dependence = {}) {
    GraphNode node{.kind = GraphNode::Kind::Kernel, .shape = {.function = FunctionId{1}, .dependence = dependence}};
    node.bytes = {{.bytes = bytes(base), .mode = mode, .early = true}};
    node.after = std::move(after);
    node.number = static_cast<std::uint32_t>(graph.nodes.size() + 1);
    graph.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(graph.nodes.size() - 1);
  }
  bool races() {
    check_graph(graph, model, recorder);
    return found().size() == 1;
  }
};

constexpr Dependence kOverlaps{.overlaps = true, .waits = true, .front = Trigger::Early};

TEST_F(InsideGraph, R_GRF_21_AnotherChainBehindTheSameNode) {
  // The other chain waits for an event that is recorded between the two kernels: R-LCH-02g.
  const std::uint32_t first = add(AccessMode::Write, a, {});
  add(AccessMode::Read, a, {first}, kOverlaps);
  add(AccessMode::Read, b, {first});
  EXPECT_TRUE(races());
}
TEST_F(InsideGraph, R_GRF_21_AnOrdinaryEdgeBesideAnotherChain) {
  const std::uint32_t first = add(AccessMode::Write, a, {});
  add(AccessMode::Read, a, {first});
  add(AccessMode::Read, b, {first});
  check_graph(graph, model, recorder);
  EXPECT_TRUE(silent());
}
TEST_F(InsideGraph, R_GRF_21_TheOtherChainComesBehindTheEnd) {
  const std::uint32_t first = add(AccessMode::Write, a, {});
  add(AccessMode::Read, b, {first}, kOverlaps);
  add(AccessMode::Read, a, {first});
  check_graph(graph, model, recorder);
  EXPECT_TRUE(silent());
}

}  // namespace
}  // namespace streamsan::ordering::testing
