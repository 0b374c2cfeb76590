// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/turns.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace streamsan::ptx {
namespace {

using Kind = Operand::Kind;

constexpr Wide kMostTurns = Wide{1} << 62;

/// Does it nothing but write registers, and memory of which nothing is followed?
bool is_quiet(const Instruction& instruction) {
  if (instruction.sync != Sync::None) return false;
  if (instruction.op == Op::Load || instruction.op == Op::Store) return !may_be_global(instruction.space);
  return instruction.op >= Op::Pure && instruction.op <= Op::ToSpace && instruction.op != Op::None;
}

Compare opposite(Compare compare) {
  switch (compare) {
    case Compare::Eq:
      return Compare::Ne;
    case Compare::Ne:
      return Compare::Eq;
    case Compare::Lt:
      return Compare::Ge;
    case Compare::Ge:
      return Compare::Lt;
    case Compare::Le:
      return Compare::Gt;
    case Compare::Gt:
      return Compare::Le;
    case Compare::None:
      break;
  }
  return Compare::None;
}

/// Of the same two numbers, the other one first.
Compare mirrored(Compare compare) {
  switch (compare) {
    case Compare::Lt:
      return Compare::Gt;
    case Compare::Gt:
      return Compare::Lt;
    case Compare::Le:
      return Compare::Ge;
    case Compare::Ge:
      return Compare::Le;
    default:
      return compare;
  }
}

bool writes(const Instruction& instruction, int reg) {
  bool found = false;
  for_each_result(instruction, [&](int each) { found |= each == reg; });
  return found;
}

bool is_register(const Operand& operand) { return operand.kind == Kind::Register && !operand.negated; }

Wide divide_up(Wide a, Wide by) { return a <= 0 ? 0 : (a + by - 1) / by; }

bool divides(Wide by, const Affine& form) {
  return form.constant % by == 0 && std::ranges::all_of(form.factor, [&](Wide each) { return each % by == 0; });
}

}  // namespace

std::optional<std::size_t> Turns::Loop::place_of(int reg) const {
  const auto found = std::ranges::lower_bound(changes, reg);
  if (found == changes.end() || *found != reg) return std::nullopt;
  return static_cast<std::size_t>(found - changes.begin());
}

/// Branches inside go forward, so each turn comes to its end; but for those of loops inside, which are looked at later.
std::optional<Turns::Loop> Turns::find(int jump, bool with_inner) const {
  Loop loop{.first = at(jump).target, .jump = jump};
  int way_out = at(jump).guard >= 0 ? jump : -1;
  int landing = 0;  // some branch before goes as far as this
  for (int i = loop.first; i <= jump; ++i) {
    const Instruction& instruction = at(i);
    loop.sure.push_back(i >= landing);
    for_each_result(instruction, [&](int reg) { loop.changes.push_back(reg); });
    if (i == jump) break;
    if (instruction.op != Op::Branch) {
      if (!is_quiet(instruction)) return std::nullopt;
    } else if (instruction.target > i && instruction.target <= jump) {
      landing = std::max(landing, instruction.target);
    } else if (instruction.target >= loop.first && instruction.target <= i) {
      if (!with_inner || !add_inner(loop, i)) return std::nullopt;
    } else {
      if (instruction.target < 0 || instruction.guard < 0 || way_out >= 0) return std::nullopt;
      way_out = i;
    }
  }
  if (way_out < 0 || !decide(loop, way_out)) return std::nullopt;
  std::ranges::sort(loop.changes);
  const auto same = std::ranges::unique(loop.changes);
  loop.changes.erase(same.begin(), same.end());
  return loop;
}

/// The loop must be entered at its first instruction, and left to a place behind it in the outer one.
bool Turns::add_inner(Loop& loop, int jump) const {
  auto inner = find(jump, false);
  if (!inner || inner->behind <= jump || inner->behind > loop.jump) return false;
  if (!loop.inner.empty() && loop.inner.back().jump >= inner->first) return false;
  for (int i = loop.first; i < inner->first; ++i)
    if (at(i).op == Op::Branch && at(i).target > inner->first && at(i).target <= jump) return false;
  for (int i = inner->first; i <= jump; ++i) loop.sure[static_cast<std::size_t>(i - loop.first)] = false;
  loop.inner.push_back(std::move(*inner));
  return true;
}

/// Finds the comparison, which each turn must come to, as to the way out.
bool Turns::decide(Loop& loop, int way_out) const {
  const auto sure = [&](int i) { return loop.sure[static_cast<std::size_t>(i - loop.first)]; };
  const Instruction& branch = at(way_out);
  int found = way_out - 1;
  while (found >= loop.first && !writes(at(found), branch.guard)) --found;
  if (found < loop.first || !sure(found) || !sure(way_out)) return false;
  const Instruction& set = at(found);
  if (set.op != Op::Set || set.guard >= 0 || set.combine || set.operands.size() != 3 || !set.type.is_integer ||
      set.type != set.source_type)
    return false;
  const Operand& result = set.operands[0];
  const Operand& plain = result.kind == Kind::List && !result.elements.empty() ? result.elements[0] : result;
  if (plain.kind != Kind::Register || plain.reg != branch.guard) return false;
  if (result.kind == Kind::List && std::ranges::count(result.elements, plain.reg, &Operand::reg) != 1) return false;
  const bool stays_if_true = (way_out == loop.jump) != branch.guard_negated;
  loop.compare = found;
  loop.behind = way_out == loop.jump ? loop.jump + 1 : branch.target;
  loop.stays = stays_if_true ? set.compare : opposite(set.compare);
  return loop.stays != Compare::None;
}

Turns::Turn Turns::walk(const Threads& threads, const Loop& loop) const {
  Turn turn;
  const std::size_t count = loop.changes.size();
  turn.drifts.reserve(count);
  for (const int reg : loop.changes) turn.drifts.push_back({.base = reg});
  turn.settled.assign(count, false);
  turn.carried.assign(count, false);
  turn.doubtful.assign(count, false);
  std::vector<std::pair<int, Drifts>> landing;
  auto inner = loop.inner.begin();
  const auto forget = [&](const Loop& of) {  // as they are in a later turn of it
    for (const int reg : of.changes) turn.drifts[*loop.place_of(reg)] = {};
  };
  for (int i = loop.first; i <= loop.jump; ++i) {
    for (const auto& [target, drifts] : landing)
      if (target == i) merge(turn.drifts, drifts);
    if (i == loop.compare) turn.at_compare = turn.drifts;
    if (inner != loop.inner.end() && i == inner->first) {
      turn.ends = turn.ends && surely_ends(threads, loop, turn.drifts, *inner);
      forget(*inner);
    }
    if (at(i).op == Op::Branch && at(i).target > i && at(i).target <= loop.jump)
      landing.emplace_back(at(i).target, turn.drifts);
    pass(threads, loop, i, turn);
    if (inner != loop.inner.end() && i == inner->jump) {
      forget(*inner);
      ++inner;
    }
  }
  return turn;
}

/// One instruction.
void Turns::pass(const Threads& threads, const Loop& loop, int index, Turn& turn) const {
  const Instruction& instruction = at(index);
  const auto look = [&](int reg) {
    if (const auto place = loop.place_of(reg); place && !turn.settled[*place]) turn.carried[*place] = true;
  };
  if (instruction.guard >= 0) look(instruction.guard);
  for (std::size_t k = 0; k < instruction.operands.size(); ++k)
    if (k > 0 || instruction.operands[0].kind == Kind::Memory) for_each_register(instruction.operands[k], look);
  const bool sure = loop.sure[static_cast<std::size_t>(index - loop.first)] && instruction.guard < 0;
  const Drift drift = instruction.guard < 0 ? drift_of(threads, loop, turn.drifts, instruction) : Drift{};
  for_each_result(instruction, [&](int reg) {
    const std::size_t place = *loop.place_of(reg);
    turn.drifts[place] = drift;
    if (sure) {
      turn.settled[place] = true;
    } else {
      look(reg);
      if (instruction.op != Op::Pure) turn.doubtful[place] = true;
    }
  });
}

Turns::Drift Turns::find(const Loop& loop, const Drifts& drifts, int reg) {
  const auto place = loop.place_of(reg);
  return place ? drifts[*place] : Drift{.base = reg};
}

/// Where two ways meet.
void Turns::merge(Drifts& into, const Drifts& other) {
  for (std::size_t i = 0; i < into.size(); ++i)
    if (into[i] != other[i]) into[i] = {};
}

/// Of the result. Sums with numbers that do not change, and copies.
Turns::Drift Turns::drift_of(const Threads& threads, const Loop& loop, const Drifts& drifts,
                             const Instruction& instruction) {
  const std::vector<Operand>& operands = instruction.operands;
  if (operands.size() < 2 || !is_register(operands[0])) return {};
  if (instruction.op == Op::Move && operands.size() == 2 && operands[1].kind == Kind::Immediate)
    return {.base = Drift::kNumber, .by = operands[1].immediate};
  if (!is_register(operands[1])) return {};
  if (instruction.op == Op::Move) return operands.size() == 2 ? find(loop, drifts, operands[1].reg) : Drift{};
  const Type type = instruction.type;
  if ((instruction.op != Op::Add && instruction.op != Op::Sub) || operands.size() != 3 || type.bits < 8) return {};
  Value step;
  if (operands[2].kind == Kind::Immediate) step = constant(operands[2].immediate);
  if (is_register(operands[2]) && !loop.may_write(operands[2].reg))
    step = threads.registers[static_cast<std::size_t>(operands[2].reg)];
  const auto by = Arithmetic(threads.box).single(step, type);
  Drift drift = find(loop, drifts, operands[1].reg);
  if (!by || drift.base == Drift::kUnknown || (drift.bits != 0 && drift.bits != type.bits)) return {};
  drift.by += instruction.op == Op::Add ? *by : -*by;
  drift.bits = type.bits;
  return drift;
}

/// In each turn of the outer loop: by what it never changes.
bool Turns::surely_ends(const Threads& threads, const Loop& outer, const Drifts& before, const Loop& inner) const {
  Threads entering = threads;
  Arithmetic arithmetic(threads.box);
  for (std::size_t i = 0; i < outer.changes.size(); ++i) {
    const Drift& drift = before[i];
    Value& value = entering.registers[static_cast<std::size_t>(outer.changes[i])];
    value = {};
    if (drift.base == Drift::kNumber) value = constant(drift.by, drift.bits != 0 ? drift.bits : 64);
    if (drift.base < 0 || outer.may_write(drift.base)) continue;
    value = threads.registers[static_cast<std::size_t>(drift.base)];
    if (drift.bits != 0) value = arithmetic.add(value, constant(drift.by), drift.bits);
  }
  const auto turns = count(entering, inner, walk(entering, inner));
  return turns && turns->ends;
}

/// An operand of the comparison, turn by turn from the one that begins now.
std::optional<Turns::Side> Turns::side(const Threads& threads, const Loop& loop, const Turn& turn,
                                       const Operand& operand, Type type) {
  if (operand.kind == Kind::Immediate) return Side{.start = constant(operand.immediate)};
  if (!is_register(operand)) return std::nullopt;
  const Drift there = find(loop, turn.at_compare, operand.reg);
  if (there.base < 0) return std::nullopt;
  const Drift whole = find(loop, turn.drifts, there.base);
  const auto fits = [&](const Drift& drift) { return drift.bits == 0 || drift.bits == type.bits; };
  if (whole.base != there.base || !fits(there) || !fits(whole)) return std::nullopt;
  const Value& base = threads.registers[static_cast<std::size_t>(there.base)];
  if (there.bits == 0 && whole.bits == 0) return Side{.start = base};
  return Side{.start = Arithmetic(threads.box).add(base, constant(there.by), type.bits),
              .step = constant(whole.by, type.bits).form.constant};
}

std::optional<Turns::Count> Turns::count(const Threads& threads, const Loop& loop, const Turn& turn) const {
  const Instruction& set = at(loop.compare);
  Type type = set.type;
  if (set.compare_unsigned) type.is_signed = false;
  const auto left = side(threads, loop, turn, set.operands[1], type);
  const auto right = side(threads, loop, turn, set.operands[2], type);
  if (!left || !right || (left->step == 0) == (right->step == 0)) return std::nullopt;
  if (left->step != 0) return count(threads, loop.stays, *left, right->start, type);
  return count(threads, mirrored(loop.stays), *right, left->start, type);
}

/// A number that wraps around has passed the bound before.
std::optional<Turns::Count> Turns::count(const Threads& threads, Compare stays, const Side& moving, const Value& bound,
                                         Type type) {
  Arithmetic arithmetic(threads.box);
  const bool up = moving.step > 0;
  const Wide step = up ? moving.step : -moving.step;
  std::optional<Affine> distance;
  Count out;
  if (stays == Compare::Ne) {
    const Value way =
        up ? arithmetic.subtract(bound, moving.start, type.bits) : arithmetic.subtract(moving.start, bound, type.bits);
    distance = arithmetic.exact(way, {type.bits, false, true});
    out.ends = distance && divides(step, *distance);
  } else {
    if (stays != (up ? Compare::Lt : Compare::Gt) && stays != (up ? Compare::Le : Compare::Ge)) return std::nullopt;
    const auto from = arithmetic.exact(moving.start, type), to = arithmetic.exact(bound, type);
    if (!from || !to) return std::nullopt;
    distance = up ? *to - *from : *from - *to;
    const Wide more = stays == Compare::Le || stays == Compare::Ge ? 1 : 0;
    distance->constant += more;
    // The last number is less than a step beyond the bound, and must not wrap.
    const Wide low = type.is_signed ? -(Wide{1} << (type.bits - 1)) : 0, high = low + (Wide{1} << type.bits) - 1;
    const Wide beyond = step - 1 + more;
    out.ends = up ? to->highest(threads.box) + beyond <= high : to->lowest(threads.box) - beyond >= low;
  }
  if (!distance) return std::nullopt;
  out.least = std::min(divide_up(distance->lowest(threads.box), step), kMostTurns);
  out.most = divide_up(distance->highest(threads.box), step);
  return out;
}

void Turns::advance(Threads& threads, const Loop& loop, const Turn& turn, Wide turns) {
  Arithmetic arithmetic(threads.box);
  for (std::size_t i = 0; i < loop.changes.size(); ++i) {
    const int reg = loop.changes[i];
    const Drift& drift = turn.drifts[i];
    Value& value = threads.registers[static_cast<std::size_t>(reg)];
    if (drift.base != reg)
      value = {};
    else if (drift.bits != 0)
      value = arithmetic.add(value, constant(turns * constant(drift.by, drift.bits).form.constant), drift.bits);
  }
}

std::optional<int> Turns::leave_out(Threads& threads, int jump) {
  auto known = loops_.find(jump);
  if (known == loops_.end()) known = loops_.emplace(jump, find(jump, true)).first;
  if (!known->second) return std::nullopt;
  const Loop& loop = *known->second;
  const Turn turn = walk(threads, loop);
  const auto turns = count(threads, loop, turn);
  if (!turns || !turn.ends) return std::nullopt;
  if (turns->ends && turns->most - turns->least > static_cast<Wide>(limits_.turns_apart)) {
    for (const int reg : loop.changes) threads.registers[static_cast<std::size_t>(reg)] = {};
    return loop.behind;
  }
  const auto loses = [&](std::size_t i) {
    const int reg = loop.changes[i];
    if (turn.drifts[i].base == reg || !turn.carried[i]) return false;
    return threads.registers[static_cast<std::size_t>(reg)] != Value{} || turn.doubtful[i];
  };
  const auto places = std::views::iota(std::size_t{0}, loop.changes.size());
  // One more than the last is run: it makes what is written behind the way out.
  const Wide turns_left_out = turns->least - 1;
  const Wide steps = turns_left_out * (loop.jump - loop.first + 1);
  if (turns_left_out < 1 || (steps <= static_cast<Wide>(limits_.loop_steps) && std::ranges::any_of(places, loses)))
    return std::nullopt;
  advance(threads, loop, turn, turns_left_out);
  return loop.first;
}

}  // namespace streamsan::ptx
