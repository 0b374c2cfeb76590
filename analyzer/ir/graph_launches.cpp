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
// work, at the places that the work named. That holds only while these places hold what they held at the capture, and
// while it is clear which graph is launched. So nothing is done unless the function has one capture, what the work
// names is set nowhere behind it, and the executable graph is one that is made behind it. What is captured by code out
// of sight, or under a condition that the launch does not share, is left out: errs towards silence.
//
// What a graph is told later (new parameters of its nodes, an update from another graph) is not followed. Such calls
// are rare, and code that makes them seldom captures and launches in one function or class.
#include "analyzer/ir/graph_launches.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

/// The one capture of a function: its work, in order, and the op that ends it.
struct Capture {
  std::size_t first = 0, last = 0;  ///< blocks in which it begins and ends
  std::size_t end = 0;              ///< position of its end in the last one
  std::vector<const Op*> work;
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
  std::size_t begin = 0, begins = 0, ends = 0;
  for (std::size_t block = 0; block < function.blocks.size(); ++block) {
    const std::vector<Op>& ops = function.blocks[block].ops;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind == OpKind::CaptureBegin) {
        capture.first = block;
        begin = i;
        ++begins;
      } else if (ops[i].kind == OpKind::CaptureEnd) {
        capture.last = block;
        capture.end = i;
        ++ends;
      }
    }
  }
  if (begins != 1 || ends != 1) return std::nullopt;
  // Work under a condition is not taken for captured.
  std::size_t steps = 0;
  for (std::size_t block = capture.first; steps < function.blocks.size(); ++steps) {
    const std::vector<Op>& ops = function.blocks[block].ops;
    const std::size_t from = block == capture.first ? begin : 0, to = block == capture.last ? capture.end : ops.size();
    if (from > to) return std::nullopt;
    for (std::size_t i = from; i < to; ++i)
      if (ops[i].kind == OpKind::Enqueue) capture.work.push_back(&ops[i]);
    if (block == capture.last) return capture;
    const std::optional<std::size_t> next = only_way(function, block, capture.last);
    if (!next) return std::nullopt;
    block = *next;
  }
  return std::nullopt;
}

/// What is set, or given to code that is not known, behind the end of the capture.
std::set<PlaceId> set_behind(const Function& function, const Capture& capture) {
  std::set<PlaceId> result;
  const std::vector<bool> behind = reached_behind(function, capture.last);
  for (std::size_t block = 0; block < function.blocks.size(); ++block) {
    if (!behind[block] && block != capture.last) continue;
    const std::vector<Op>& ops = function.blocks[block].ops;
    for (std::size_t i = behind[block] ? 0 : capture.end; i < ops.size(); ++i) {
      if (ops[i].target != kNoPlace) result.insert(ops[i].target);
      if (ops[i].kind == OpKind::Escape) result.insert(ops[i].source.place);
    }
  }
  return result;
}

/// The place, and what leads to it, is set nowhere in `changed`.
bool stays(const Function& function, PlaceId place, const std::set<PlaceId>& changed) {
  for (PlaceId part = place; part != kNoPlace; part = function[part].base)
    if (changed.contains(part)) return false;
  return true;
}

bool stays(const Function& function, const Access& access, const std::set<PlaceId>& changed) {
  const auto number = [&](ExprId id) {
    return id == kNoExpr ||
           std::ranges::all_of(function[id].uses, [&](PlaceId use) { return stays(function, use, changed); });
  };
  const bool named = access.memory.kind == Operand::Kind::Value || access.memory.kind == Operand::Kind::Address;
  return named && stays(function, access.memory.place, changed) && number(access.memory.offset) && number(access.bytes);
}

}  // namespace

void expand_graph_launches(Function& function) {
  const std::optional<Capture> capture = only_capture(function);
  if (!capture) return;
  const std::set<PlaceId> changed = set_behind(function, *capture);
  std::vector<Access> captured;
  for (const Op* op : capture->work)
    for (const Access& access : op->accesses)
      // Which part the arguments of a kernel say is not known of a graph.
      if (access.part.kind != Part::Kind::From && stays(function, access, changed)) captured.push_back(access);
  if (captured.empty()) return;
  const std::vector<bool> behind = reached_behind(function, capture->last);
  for (std::size_t block = 0; block < function.blocks.size(); ++block) {
    if (!behind[block] && block != capture->last) continue;
    std::vector<Op>& ops = function.blocks[block].ops;
    for (std::size_t i = behind[block] ? 0 : capture->end; i < ops.size(); ++i) {
      Op& op = ops[i];
      if (op.kind != OpKind::Enqueue || op.work != Work::GraphLaunch || op.arguments.empty()) continue;
      // An executable graph that is made behind the capture.
      if (op.arguments.front().kind != Operand::Kind::Value || !changed.contains(op.arguments.front().place)) continue;
      op.accesses.insert(op.accesses.end(), captured.begin(), captured.end());
    }
  }
}

}  // namespace streamsan::analyzer::ir
