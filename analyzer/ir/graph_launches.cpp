// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches of captured graphs.
//
//   cudaStreamBeginCapture(s, mode);
//   relax<<<..., s>>>(grid);               <- becomes part of the graph
//   cudaStreamEndCapture(s, &graph);
//   cudaGraphInstantiate(&exec, graph, 0);
//   ...
//   cudaGraphLaunch(exec, s);              <- writes `grid`
//
// A launch is one piece of work of its stream, and does what all the captured work does: its accesses are those of the
// work, at the places that the work named. That holds only if these places hold what they held when the work was
// captured: neither they nor what leads to them, indices and offsets included, may have changed on any way from there
// to the launch (changes.h). And it must be clear which graph is launched: the function has one capture; behind it one
// op sets the executable graph that is launched, made of a graph that one op sets, which is the end of the capture.
// What is captured by code out of sight, or under a condition that the launch does not share, is left out: errs towards
// silence.
//
// A graph can change later: new parameters of its nodes, an update from another graph. Such a call may
// stand in any function, and the graph come to it by any name, so one of them in the program ends what is known of all
// executable graphs. Not seen: nodes that are changed between the capture and the making of the executable graph.
#include "analyzer/ir/graph_launches.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analyzer/ir/changes.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

/// Of an op: its block, and where in it.
struct Position {
  std::size_t block = 0, op = 0;
};

/// The one capture of a function: its work, in order, and the op that ends it.
struct Capture {
  Position begin, end;
  std::vector<Position> work;
};

/// Where the way to `target` goes on from `block`; absent: it goes several ways.
std::optional<std::size_t> only_way(const Function& function, std::size_t block, std::size_t target) {
  std::optional<std::size_t> found;
  for (const BlockId successor : function.blocks[block].successors) {
    const auto everywhere = [](std::size_t, std::size_t) { return true; };
    if (!reached(function, {at(successor)}, everywhere)[target]) continue;
    if (found) return std::nullopt;
    found = at(successor);
  }
  return found;
}

std::optional<Capture> only_capture(const Function& function) {
  Capture capture;
  std::size_t begins = 0, ends = 0;
  for (std::size_t block = 0; block < function.blocks.size(); ++block) {
    const std::vector<Op>& ops = function.blocks[block].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind == OpKind::CaptureBegin) {
        capture.begin = {block, i};
        ++begins;
      } else if (ops[i].kind == OpKind::CaptureEnd) {
        capture.end = {block, i};
        ++ends;
      }
    }
  }
  if (begins != 1 || ends != 1) return std::nullopt;
  // Work under a condition is not taken for captured.
  std::size_t steps = 0;
  const std::size_t last = capture.end.block;
  for (std::size_t block = capture.begin.block; steps < function.blocks.size(); ++steps) {
    const std::vector<Op>& ops = function.blocks[block].ops;
    const std::size_t from = block == capture.begin.block ? capture.begin.op : 0;
    const std::size_t to = block == last ? capture.end.op : ops.size();
    if (from > to) return std::nullopt;
    for (std::size_t i = from; i < to; ++i)
      if (ops[i].kind == OpKind::Enqueue) capture.work.push_back({block, i});
    if (block == last) return capture;
    const std::optional<std::size_t> next = only_way(function, block, last);
    if (!next) return std::nullopt;
    block = *next;
  }
  return std::nullopt;
}

/// What happens on the ways to a launch.
class Ways {
 public:
  Ways(const Function& function, const Capture& capture, const Position& launch)
      : function_(function), capture_(capture), launch_(launch) {}

  /// What the work accesses, as far as it is named at the launch as it was there.
  [[nodiscard]] bool stays(const Access& access, const Position& work) const {
    const bool named = access.memory.kind == Operand::Kind::Value || access.memory.kind == Operand::Kind::Address;
    return named && names_the_same(access.memory.place, work, launch_) &&
           (access.memory.kind == Operand::Kind::Address || !changes(access.memory.place, work, launch_)) &&
           is_worth_the_same(access.memory.offset, work, launch_) && is_worth_the_same(access.bytes, work, launch_);
  }

  /// The executable graph is made of what was captured.
  [[nodiscard]] bool launches_it(const Operand& graph) const {
    const Op* made = nullptr;
    Position at = launch_;
    Operand held = graph;
    for (int steps = 0; steps < kMostCopies; ++steps) {
      const auto store = only_store_before(held, at);
      if (!store) return false;
      const Op& op = (*this)[*store];
      if (op.kind == OpKind::Fresh && made != nullptr)
        return store->block == capture_.end.block && store->op == capture_.end.op + 1;
      if (op.kind == OpKind::Fresh) made = &op;
      held = op.source;
      at = *store;
    }
    return false;
  }

 private:
  static constexpr int kMostCopies = 16;

  const Op& operator[](const Position& at) const { return function_.blocks[at.block].ops[at.op]; }

  /// On all ways from one to the other.
  template <typename Visit>
  void between(const Position& from, const Position& to, Visit visit) const {
    const std::vector<bool> behind = reached_behind(function_, from.block),
                            before = leading_before(function_, to.block);
    for (std::size_t block = 0; block < function_.blocks.size(); ++block) {
      if ((!behind[block] && block != from.block) || (!before[block] && block != to.block)) continue;
      for (std::size_t i = 0; i < function_.blocks[block].ops.size(); ++i)
        if ((behind[block] || i > from.op) && (before[block] || i < to.op)) visit(Position{block, i});
    }
  }

  [[nodiscard]] bool changes(PlaceId place, const Position& from, const Position& to) const {
    bool found = false;
    between(from, to, [&](const Position& at) { found = found || may_change(function_, (*this)[at], place); });
    return found;
  }

  [[nodiscard]] bool is_worth_the_same(ExprId id, const Position& from, const Position& to) const {
    return id == kNoExpr || std::ranges::all_of(function_[id].uses, [&](PlaceId use) {
             return names_the_same(use, from, to) && !changes(use, from, to);
           });
  }

  /// The path leads to where it led: what is on the way to the place has not changed.
  [[nodiscard]] bool names_the_same(PlaceId place, const Position& from, const Position& to) const {
    for (PlaceId part = place; part != kNoPlace; part = function_[part].base) {
      if (!is_worth_the_same(function_[part].index, from, to)) return false;
      if (part != place && function_[part].type == TypeKind::Pointer && changes(part, from, to)) return false;
    }
    return true;
  }

  /// The op that gave the graph to the place that holds it; none, if it may be one of several, or other code may have
  /// done something to the graph.
  [[nodiscard]] std::optional<Position> only_store_before(const Operand& held, const Position& to) const {
    if (held.kind != Operand::Kind::Value || held.place == kNoPlace) return std::nullopt;
    std::vector<Position> found;
    bool given_away = false;
    between(capture_.end, to, [&](const Position& at) {
      const Op& op = (*this)[at];
      given_away = given_away || (op.kind == OpKind::Escape && op.source.place == held.place);
      const bool clears = op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Null;
      if (!clears && may_change(function_, op, held.place)) found.push_back(at);
    });
    if (given_away || found.size() != 1 || (*this)[found[0]].target != held.place) return std::nullopt;
    if (!names_the_same(held.place, found[0], to)) return std::nullopt;
    return found[0];
  }

  const Function& function_;
  const Capture& capture_;
  Position launch_;
};

}  // namespace

void forget_updated_graphs(Program& program) {
  const auto tells = [](const Op& op) { return op.kind == OpKind::Escape && op.work == Work::GraphLaunch; };
  const auto any = [&](const auto& known) {
    return std::ranges::any_of(known.second.blocks,
                               [&](const Block& block) { return std::ranges::any_of(block.ops, tells); });
  };
  if (!std::ranges::any_of(program.functions, any)) return;
  for (auto& [usr, function] : program.functions)
    for (Block& block : function.blocks)
      for (Op& op : block.ops)
        if (op.kind == OpKind::Fresh) op.source = {};
}

void expand_graph_launches(Function& function) {
  const std::optional<Capture> capture = only_capture(function);
  if (!capture) return;
  for (std::size_t block = 0; block < function.blocks.size(); ++block) {
    std::vector<Op>& ops = function.blocks[block].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      Op& launch = ops[i];
      if (launch.kind != OpKind::Enqueue || launch.work != Work::GraphLaunch || launch.arguments.empty()) continue;
      const Ways ways(function, *capture, {block, i});
      if (!ways.launches_it(launch.arguments.front())) continue;
      std::vector<Access> captured;
      for (const Position& work : capture->work)
        for (const Access& access : function.blocks[work.block].ops[work.op].accesses)
          // Which part the arguments of a kernel say is not known of a graph.
          if (access.part.kind != Part::Kind::From && ways.stays(access, work)) captured.push_back(access);
      launch.accesses.insert(launch.accesses.end(), captured.begin(), captured.end());
    }
  }
}

}  // namespace streamsan::analyzer::ir
