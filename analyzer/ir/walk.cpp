// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What belongs to a function alone, found without following its control flow: coarse, and safe in one direction only.
// What is called own is own on all paths; a variable that is assigned once counts as assigned everywhere.
#include "analyzer/ir/walk.h"

#include <algorithm>
#include <utility>

namespace streamsan::analyzer::ir {

Root root(const Function& function, PlaceId path) {
  Root root{path, false};
  while (function[root.place].base != kNoPlace) {
    const Place& part = function[root.place];
    const bool element = part.kind == Place::Kind::Index && function[part.base].type == TypeKind::Pointer;
    root.through_pointer = root.through_pointer || part.kind == Place::Kind::Deref || element;
    root.place = part.base;
  }
  return root;
}

PlaceId first_of(const Function& function, PlaceId path) {
  PlaceId first = path;
  for (PlaceId base = path; base != kNoPlace; base = function[base].base) {
    const Place& place = function[base];
    const bool starred = place.kind == Place::Kind::Deref &&
                         (first == base || function[first].kind != Place::Kind::Field || function[first].base != base);
    if (starred) return kNoPlace;
    first = base;
  }
  return first == path ? kNoPlace : first;
}

namespace {

bool any_way(std::size_t /*from*/, std::size_t /*to*/) { return true; }

}  // namespace

std::vector<bool> reached_behind(const Function& function, std::size_t block) {
  std::vector<std::size_t> from;
  for (const BlockId to : function.blocks[block].successors) from.push_back(at(to));
  return reached(function, std::move(from), any_way);
}

std::vector<bool> leading_before(const Function& function, std::size_t block) {
  std::vector<bool> before(function.blocks.size());
  before[block] = true;
  before = leading_to(function, std::move(before), any_way);
  // What leads to it is the same whether it counts itself; whether it leads to itself its successors say.
  before[block] = std::ranges::any_of(function.blocks[block].successors, [&](BlockId to) { return before[at(to)]; });
  return before;
}

bool always_runs(const Function& function, std::size_t block, std::size_t op) {
  const std::size_t count = function.blocks.size();
  const Op& wanted = function.blocks[block].ops[op];
  std::vector<bool> holds(count);
  holds[block] = true;
  for (std::size_t i = 0; i < count && wanted.origin != Op::kNoOrigin; ++i)
    for (const Op& other : function.blocks[i].ops) holds[i] = holds[i] || other.origin == wanted.origin;
  if (holds[0]) return true;

  std::vector<std::size_t> behind_it;
  for (std::size_t i = 0; i < count; ++i)
    if (holds[i])
      for (const BlockId to : function.blocks[i].successors) behind_it.push_back(static_cast<std::size_t>(to));
  const std::vector<bool> behind = reached(function, behind_it, any_way);
  const std::vector<bool> before = leading_to(function, holds, any_way);
  // A loop around it is not left before its first round.
  const auto into_loops = [&](std::size_t from, std::size_t to) {
    return !holds[to] && (!function.blocks[from].loop_head || !behind[from] || before[to]);
  };
  const std::vector<bool> around = reached(function, {0}, into_loops);
  for (std::size_t i = 0; i < count; ++i) {
    if (!around[i] || before[i]) continue;
    if (behind[i] && !function.blocks[i].successors.empty()) return false;
    for (const Op& other : function.blocks[i].ops)
      if (other.kind == OpKind::Enqueue || other.kind == OpKind::Call || other.kind == OpKind::MaySync) return false;
  }
  return true;
}

std::vector<std::pair<std::size_t, std::size_t>> back_edges(const Function& function) {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  if (function.blocks.empty()) return result;
  enum class Mark : std::uint8_t { New, Open, Done };
  std::vector<Mark> marks(function.blocks.size(), Mark::New);
  std::vector<std::pair<std::size_t, std::size_t>> open{{0, 0}};  // block, next successor
  marks[0] = Mark::Open;
  while (!open.empty()) {
    auto& [block, next] = open.back();
    const auto& successors = function.blocks[block].successors;
    if (next == successors.size()) {
      marks[block] = Mark::Done;
      open.pop_back();
      continue;
    }
    const auto to = static_cast<std::size_t>(successors[next++]);
    if (marks[to] == Mark::Open) result.emplace_back(block, to);
    if (marks[to] != Mark::New) continue;
    marks[to] = Mark::Open;
    open.emplace_back(to, 0);
  }
  return result;
}

namespace {

/// Finds strongly connected components (Tarjan, without recursion): the outermost loops. On request, in each of them,
/// without its head, the next inner ones.
class LoopWalk {
 public:
  enum class Depth : std::uint8_t { Outermost, All };
  LoopWalk(const Function& function, Depth depth)
      : function_(function), depth_(depth), numbers_(function.blocks.size()), in_loop_(function.blocks.size()) {}

  /// Walks over what `start` leads to and was not met yet.
  void from(std::uint32_t start) {
    if (numbers_[start] != 0) return;
    enter(start);
    while (!open_.empty()) {
      Visit& visit = open_.back();
      const auto& successors = function_.blocks[visit.block].successors;
      if (visit.next == successors.size()) {
        finish(visit);
        continue;
      }
      const auto to = static_cast<std::uint32_t>(successors[visit.next]);
      if (numbers_[to] == 0) {
        enter(to);
        continue;
      }
      ++visit.next;
      if (!visit.is_inside) visit.reaches(numbers_[to]);
    }
  }

  /// Of Depth::All: what was met, loop by loop.
  std::vector<std::uint32_t> order() {
    std::ranges::reverse(order_);
    return std::move(order_);
  }
  /// By block: it was met, and is in a loop.
  std::vector<bool> in_loop() { return std::move(in_loop_); }

 private:
  static constexpr std::uint32_t kDone = UINT32_MAX;
  struct Visit {
    std::uint32_t block = 0;
    std::uint32_t head = 0;  ///< the lowest number that ways from it lead to
    std::size_t next = 0;    ///< successor
    bool is_head = false;    ///< of a loop
    bool is_inside = false;  ///< its loop's other blocks are being put in order
    void reaches(std::uint32_t number) {
      if (number > head) return;
      head = number;
      is_head = true;
    }
  };

  void enter(std::uint32_t block) {
    numbers_[block] = ++last_;
    component_.push_back(block);
    open_.push_back({.block = block, .head = last_});
  }

  /// Takes the component off the stack that its first block begins.
  void take_component(const Visit& first) {
    const std::uint32_t others = depth_ == Depth::All ? 0 : kDone;  // 0: they are entered again
    for (std::uint32_t member = UINT32_MAX; member != first.block;) {
      member = component_.back();
      component_.pop_back();
      numbers_[member] = member == first.block ? kDone : others;
      in_loop_[member] = in_loop_[member] || first.is_head;
    }
  }

  void finish(Visit& visit) {
    if (!visit.is_inside && visit.head == numbers_[visit.block]) {
      take_component(visit);
      visit.is_inside = true;
      if (visit.is_head && depth_ == Depth::All) {
        visit.next = 0;
        return;
      }
    }
    if (visit.is_inside) order_.push_back(visit.block);
    const std::uint32_t head = visit.head;
    open_.pop_back();
    if (open_.empty()) return;
    ++open_.back().next;
    if (!open_.back().is_inside) open_.back().reaches(head);
  }

  const Function& function_;
  Depth depth_;
  std::vector<std::uint32_t> numbers_;  ///< by block; 0: not entered
  std::uint32_t last_ = 0;
  std::vector<std::uint32_t> component_;
  std::vector<Visit> open_;
  std::vector<std::uint32_t> order_;
  std::vector<bool> in_loop_;
};

}  // namespace

std::vector<std::uint32_t> loop_by_loop(const Function& function) {
  LoopWalk walk(function, LoopWalk::Depth::All);
  walk.from(0);
  return walk.order();
}

std::vector<bool> blocks_in_loops(const Function& function) {
  LoopWalk walk(function, LoopWalk::Depth::Outermost);
  for (std::uint32_t start = 0; start < function.blocks.size(); ++start) walk.from(start);
  return walk.in_loop();
}

bool is_own(const Place& variable) {
  return variable.kind == Place::Kind::Local || variable.kind == Place::Kind::Temporary ||
         (variable.kind == Place::Kind::Parameter && !variable.reference);
}

const Op* only_store(const Function& function, PlaceId place) {
  const Op* only = nullptr;
  for (const Block& block : function.blocks) {
    for (const Op& op : block.ops) {
      if (op.target != place) continue;
      if (only != nullptr) return nullptr;
      only = &op;
    }
  }
  return only;
}

Variables::Variables(const Function& function) : function_(function), assigned_(function.places.size()) {
  for (std::size_t i = 0; i < function.places.size(); ++i) {
    assigned_[i] = function.places[i].kind == Place::Kind::Parameter;
  }
  for (const Block& block : function.blocks) {
    for (const Op& op : block.ops) {
      if (op.target != kNoPlace && op.kind != OpKind::Fresh) {
        assigned_[static_cast<std::size_t>(root(function, op.target).place)] = true;
      }
    }
  }
}

bool Variables::is_own_part(PlaceId path) const {
  const Root start = root(function_, path);
  return !start.through_pointer && is_own(function_[start.place]);
}

bool Variables::is_unknown_part(PlaceId path) const {
  return is_own_part(path) && !assigned_[static_cast<std::size_t>(root(function_, path).place)];
}

bool Variables::is_own_bytes(OpKind kind, const Operand& operand) const {
  const bool touched = kind == OpKind::EndOfLife || kind == OpKind::HostAccess;
  switch (operand.kind) {
    case Operand::Kind::Address:
      return (touched && is_own_part(operand.place)) || (kind == OpKind::Escape && is_unknown_part(operand.place));
    case Operand::Kind::Value:
      return (touched || kind == OpKind::Escape) && is_unknown_part(operand.place);
    default:
      return false;
  }
}

std::string field_key(const Function& function, PlaceId place) {
  while (place != kNoPlace && function[place].kind == Place::Kind::Index) place = function[place].base;
  if (place == kNoPlace || function[place].kind != Place::Kind::Field) return {};
  return function[place].owner + "::" + function[place].name;
}

}  // namespace streamsan::analyzer::ir
