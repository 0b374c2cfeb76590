// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk that first_rounds.h explains.
#include "analyzer/analysis/first_rounds.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>

#include "analyzer/ir/polynomial.h"
#include "analyzer/ir/range.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::Polynomial;

constexpr std::string_view kValuePrefix = "#";

std::string variable_of(ValueId value) {
  return std::string(kValuePrefix) + std::to_string(static_cast<std::uint32_t>(value));
}

/// Absent: the variable is of another kind, such as `(#7 % 2)`.
std::optional<ValueId> value_of_variable(std::string_view name) {
  std::uint32_t number = 0;
  const char* end = name.data() + name.size();
  if (!name.starts_with(kValuePrefix) || std::from_chars(name.data() + 1, end, number).ptr != end) return std::nullopt;
  return ValueId{number};
}

/// The polynomial with `value(variable)` in place of each variable that it knows.
template <typename ValueOf>
std::optional<Polynomial> with_values(const Polynomial& polynomial, ValueOf value) {
  std::optional<Polynomial> result(Polynomial(0));
  for (const auto& [variables, factor] : polynomial.terms()) {
    std::optional<Polynomial> term(factor);
    for (const std::string& name : variables) {
      const std::optional<Polynomial> worth = value(name);
      term = term ? term->times(worth ? *worth : Polynomial::variable(name)) : std::nullopt;
    }
    result = term && result ? result->plus(*term) : std::nullopt;
  }
  return result;
}

/// The key as a polynomial, in steps of its unit. Integers that are computed from others are replaced by these.
std::optional<Polynomial> steps_of(const Values& values, const Key& key) {
  if (key.constant) return Polynomial(*key.constant);
  std::string_view text = key.text;
  if (text.ends_with(", ")) text.remove_suffix(2);  // the one argument of a launch that says where it begins
  const auto name = [&](std::string_view word) -> std::string {
    std::size_t number = 0;
    const char* end = word.data() + word.size();
    if (!word.starts_with('$') || std::from_chars(word.data() + 1, end, number).ptr != end) return {};
    return number < key.values.size() && key.values[number] != kUnknown ? variable_of(key.values[number])
                                                                        : std::string();
  };
  const std::optional<Polynomial> steps = Polynomial::parse(text, name);
  if (!steps) return std::nullopt;
  return with_values(*steps, [&](const std::string& variable) -> std::optional<Polynomial> {
    const std::optional<ValueId> id = value_of_variable(variable);
    if (!id) return std::nullopt;
    const Value& value = values[*id];
    const bool computed = value.kind == Value::Kind::Computed || value.kind == Value::Kind::Constant;
    return computed ? steps_of(values, values[value.key]) : std::nullopt;
  });
}

struct Begin {
  Polynomial at{0};
  bool in_bytes = true;  ///< false: in steps of unknown length
};

std::optional<Begin> begin_of(const Values& values, const Pending& access) {
  const std::vector<ir::Access>& all = values.op(access.op).accesses;
  const bool leaves_out = access.access < all.size() && all[access.access].part.kind != ir::Part::Kind::Whole;
  if (leaves_out && access.from == kWhole) return std::nullopt;
  if (access.from != kWhole) {
    const auto steps = access.offset == kWhole ? steps_of(values, values[access.from]) : std::nullopt;
    return steps ? std::optional(Begin{*steps, false}) : std::nullopt;
  }
  if (access.offset == kWhole) return Begin{.at = Polynomial(0)};
  const Key& key = values[access.offset];
  const auto steps = steps_of(values, key);
  const auto scaled = steps && key.unit != 0 ? steps->times(Polynomial(key.unit)) : steps;
  return scaled ? std::optional(Begin{*scaled, key.unit != 0}) : std::nullopt;
}

/// A value that a counter held.
struct Reading {
  ValueId value = kUnknown;
  std::size_t counter = 0;  ///< its index in the list of places
  bool older = false;
  std::uint32_t block = UINT32_MAX;  ///< it is read at the entry of this block
  OpIndex op = kNoOp;                ///< or it is what this op stored
  bool of_earlier = false;           ///< true: it says where the earlier access begins; false: the later one
};

/// The numbers that the counters hold and those that were read, on one path.
struct Numbers {
  static constexpr std::int8_t kNotKnown = INT8_MIN;
  std::uint32_t block = 0;
  bool begun = false;    ///< the earlier access has run
  bool renewed = false;  ///< and its counter was read again after it
  std::vector<std::int8_t> held, read;
  friend auto operator<=>(const Numbers&, const Numbers&) = default;
};

class RoundWalk {
 public:
  RoundWalk(const Values& values, const Pending& earlier, const Pending& later, std::uint64_t most_steps)
      : values_(values), function_(values.function()), earlier_(earlier), later_(later), most_steps_(most_steps) {}

  bool meets();
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  /// False: no variable counts.
  bool prepare();
  void add_readings(const Polynomial& begin, const Polynomial& other, bool of_earlier);
  std::size_t counter(ir::PlaceId place);
  /// The kernel gets the counter as well as the pointer: in another round it may use another part.
  [[nodiscard]] bool is_told(const Pending& access) const;
  /// Walks along the ops of a block from `position` on. True: the two meet.
  bool pass(Numbers now, std::size_t position);
  void enter(Numbers now, std::uint32_t block);
  /// False: on this path the accesses are not the two in question.
  bool read_again(Numbers& now, const Reading& reading) const;
  bool store(Numbers& now, const ir::Op& op, OpIndex index) const;
  [[nodiscard]] bool at_one_place(const Numbers& now) const;
  [[nodiscard]] ir::Range evaluated(ir::ExprId expr, const Numbers& now) const;
  [[nodiscard]] bool may_write(const ir::Op& op, ir::PlaceId place) const;
  /// The op changes no counter, and none is read there.
  [[nodiscard]] bool is_idle(const ir::Op& op, OpIndex index) const;

  const Values& values_;
  const ir::Function& function_;
  const Pending &earlier_, &later_;
  const std::uint64_t most_steps_;
  std::uint64_t steps_ = 0;
  mutable std::map<OpIndex, bool> idle_;
  Polynomial distance_;
  std::vector<Reading> readings_;
  std::vector<ir::PlaceId> counters_;
  std::set<Numbers> entered_;
  std::vector<Numbers> open_;
  mutable std::map<ir::ExprId, std::string> texts_;
};

std::size_t RoundWalk::counter(ir::PlaceId place) {
  const auto known = std::ranges::find(counters_, place);
  if (known != counters_.end()) return static_cast<std::size_t>(known - counters_.begin());
  counters_.push_back(place);
  return counters_.size() - 1;
}

void RoundWalk::add_readings(const Polynomial& begin, const Polynomial& other, bool of_earlier) {
  const auto has = [](const Polynomial& in, const std::string& name) {
    return std::ranges::any_of(
        in.terms(), [&](const auto& term) { return std::ranges::find(term.first, name) != term.first.end(); });
  };
  for (const auto& [variables, factor] : begin.terms())
    for (const std::string& name : variables) {
      const std::optional<ValueId> id = value_of_variable(name);
      if (!id || has(other, name) || std::ranges::find(readings_, *id, &Reading::value) != readings_.end()) continue;
      const Value& value = values_[*id];
      Reading reading{.value = *id, .older = value.older, .of_earlier = of_earlier};
      ir::PlaceId place = ir::kNoPlace;
      if (value.kind == Value::Kind::Merge) {
        place = values_.seen(value.location);
        reading.block = value.site;
      } else if (value.kind == Value::Kind::Version && values_.op(value.site).kind == ir::OpKind::Assign) {
        place = values_.op(value.site).target;
        reading.op = value.site;
        const ir::Operand& source = values_.op(value.site).source;
        if (source.kind == ir::Operand::Kind::Number)
          for (const ir::PlaceId use : function_[source.offset].uses) counter(use);
      }
      // It is not followed which older value the later access is named by.
      if (place == ir::kNoPlace || (!of_earlier && value.older)) continue;
      reading.counter = counter(place);
      readings_.push_back(reading);
    }
}

bool RoundWalk::prepare() {
  if (earlier_.access >= kEventRecord || later_.access >= kEventRecord || earlier_.memory != later_.memory)
    return false;
  const std::optional<Begin> from = begin_of(values_, earlier_), to = begin_of(values_, later_);
  if (!from || !to) return false;
  const bool comparable = (from->in_bytes && to->in_bytes) || from->at.terms().empty() || to->at.terms().empty();
  const std::optional<Polynomial> distance = comparable ? to->at.plus(from->at, -1) : std::nullopt;
  if (!distance) return false;
  distance_ = *distance;
  add_readings(from->at, to->at, true);
  add_readings(to->at, from->at, false);
  constexpr std::size_t kMostCounters = 6;
  return !readings_.empty() && counters_.size() <= kMostCounters && !(earlier_.from == kWhole && is_told(earlier_)) &&
         !(later_.from == kWhole && is_told(later_));
}

bool RoundWalk::is_told(const Pending& access) const {
  if (access.arguments == kWhole) return false;
  const auto counts = [this](ValueId id) {
    const Value& value = values_[id];
    if (value.kind != Value::Kind::Merge && value.kind != Value::Kind::Version) return false;
    const ir::PlaceId place =
        value.kind == Value::Kind::Merge ? values_.seen(value.location) : values_.op(value.site).target;
    return std::ranges::any_of(readings_, [&](const Reading& reading) { return counters_[reading.counter] == place; });
  };
  return std::ranges::any_of(values_[access.arguments].values, [&](ValueId id) {
    const Value& value = values_[id];
    return value.kind == Value::Kind::Computed ? std::ranges::any_of(values_[value.key].values, counts) : counts(id);
  });
}

bool RoundWalk::may_write(const ir::Op& op, ir::PlaceId place) const {
  for (ir::PlaceId part = place; part != ir::kNoPlace; part = function_[part].base)
    if (op.target == part) return true;
  const bool own = ir::is_own(function_[place]);
  if (op.kind == ir::OpKind::MaySync) return !own;
  if (op.kind == ir::OpKind::Escape)
    return !own || (op.source.kind == ir::Operand::Kind::Address && op.source.place == place);
  // The same field of another name that may mean this object.
  return op.target != ir::kNoPlace && function_[place].kind == ir::Place::Kind::Field &&
         function_[op.target].kind == ir::Place::Kind::Field &&
         ir::field_key(function_, op.target) == ir::field_key(function_, place) &&
         (ir::root(function_, place).through_pointer || ir::root(function_, op.target).through_pointer);
}

ir::Range RoundWalk::evaluated(ir::ExprId id, const Numbers& now) const {
  if (id == ir::kNoExpr) return {};
  const ir::Expr& expr = function_[id];
  if (expr.constant) return ir::Range::one(*expr.constant);
  std::string& text = texts_[id];
  if (text.empty()) text = ir::numbered(function_, expr);
  return ir::evaluate(text, [&](std::string_view word) -> std::optional<ir::Range> {
    for (std::size_t i = 0; i < expr.uses.size(); ++i) {
      if (word != "$" + std::to_string(i)) continue;
      const auto known = std::ranges::find(counters_, expr.uses[i]);
      if (known == counters_.end()) return std::nullopt;
      const std::int8_t held = now.held[static_cast<std::size_t>(known - counters_.begin())];
      return held == Numbers::kNotKnown ? std::nullopt : std::optional(ir::Range::one(held));
    }
    return std::nullopt;
  });
}

bool RoundWalk::read_again(Numbers& now, const Reading& reading) const {
  if (reading.of_earlier && now.begun) {
    now.renewed = true;
    return reading.older;
  }
  now.read[&reading - readings_.data()] = now.held[reading.counter];
  return true;
}

bool RoundWalk::is_idle(const ir::Op& op, OpIndex index) const {
  const auto [known, is_new] = idle_.try_emplace(index, false);
  if (is_new)
    known->second = std::ranges::none_of(counters_, [&](ir::PlaceId counter) { return may_write(op, counter); }) &&
                    std::ranges::find(readings_, index, &Reading::op) == readings_.end();
  return known->second;
}

bool RoundWalk::store(Numbers& now, const ir::Op& op, OpIndex index) const {
  if (is_idle(op, index)) return true;
  std::vector<std::int8_t> after = now.held;
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    if (!may_write(op, counters_[i])) continue;
    after[i] = Numbers::kNotKnown;
    if (op.kind != ir::OpKind::Assign || op.target != counters_[i]) continue;
    std::optional<std::int64_t> number;
    if (op.source.kind == ir::Operand::Kind::Number) {
      number = evaluated(op.source.offset, now).number();
    } else if (op.source.kind == ir::Operand::Kind::Value) {
      const auto from = std::ranges::find(counters_, op.source.place);
      if (from != counters_.end()) after[i] = now.held[static_cast<std::size_t>(from - counters_.begin())];
    }
    // Its start may be any number; then the first few are enough.
    const bool first = number && function_[op.source.offset].constant;
    constexpr std::int64_t kFew = 4;
    if (number && *number >= (first ? -100 : -kFew) && *number <= (first ? 100 : kFew))
      after[i] = static_cast<std::int8_t>(*number);
  }
  now.held = std::move(after);
  return std::ranges::all_of(readings_,
                             [&](const Reading& reading) { return reading.op != index || read_again(now, reading); });
}

bool RoundWalk::at_one_place(const Numbers& now) const {
  const auto left = with_values(distance_, [&](const std::string& name) -> std::optional<Polynomial> {
    const std::optional<ValueId> id = value_of_variable(name);
    const auto reading = id ? std::ranges::find(readings_, *id, &Reading::value) : readings_.end();
    if (reading == readings_.end()) return std::nullopt;
    const std::int8_t read = now.read[static_cast<std::size_t>(reading - readings_.begin())];
    return read == Numbers::kNotKnown ? std::nullopt : std::optional(Polynomial(read));
  });
  const bool older =
      std::ranges::any_of(readings_, [](const Reading& reading) { return reading.of_earlier && reading.older; });
  return left && left->constant() == 0 && (now.renewed || !older);
}

void RoundWalk::enter(Numbers now, std::uint32_t block) {
  now.block = block;
  for (const Reading& reading : readings_)
    if (reading.block == block && !read_again(now, reading)) return;
  if (entered_.insert(now).second) open_.push_back(std::move(now));
}

bool RoundWalk::pass(Numbers now, std::size_t position) {
  const ir::Block& block = function_.blocks[now.block];
  for (; position < block.ops.size(); ++position) {
    ++steps_;
    const OpIndex index = values_.first_op(now.block) + static_cast<OpIndex>(position);
    if (now.begun && index == later_.op && at_one_place(now)) return true;
    if (!now.begun && index == earlier_.op) {
      Numbers begun = now;
      begun.begun = true;
      if (store(begun, block.ops[position], index) && pass(std::move(begun), position + 1)) return true;
    }
    if (!store(now, block.ops[position], index)) return false;
  }
  steps_ += 8;  // a state is copied, and looked for
  std::optional<bool> holds;
  if (block.successors.size() == 2) holds = evaluated(block.condition, now).truth();
  for (std::size_t i = 0; i < block.successors.size(); ++i)
    if (!holds || block.successors.size() != 2 || *holds == (i == 0))
      enter(now, static_cast<std::uint32_t>(block.successors[i]));
  return false;
}

bool RoundWalk::meets() {
  if (function_.blocks.empty() || !prepare()) return false;
  Numbers start;
  start.held.assign(counters_.size(), Numbers::kNotKnown);
  start.read.assign(readings_.size(), Numbers::kNotKnown);
  enter(start, 0);
  while (!open_.empty() && steps_ < most_steps_) {
    Numbers now = std::move(open_.back());
    open_.pop_back();
    if (pass(std::move(now), 0)) return true;
  }
  return false;
}

}  // namespace

bool FirstRounds::meet(const Pending& earlier, const Pending& later) {
  constexpr std::uint64_t kMostOfAPair = 60'000, kMostOfAll = 300'000;
  if (steps_ >= kMostOfAll) return false;
  const auto number = [](auto id) { return static_cast<std::uint64_t>(id); };
  const Question question{number(earlier.op),     number(earlier.access), number(earlier.memory),
                          number(earlier.offset), number(earlier.from),   number(earlier.arguments),
                          number(later.op),       number(later.access),   number(later.memory),
                          number(later.offset),   number(later.from),     number(later.arguments)};
  const auto [known, is_new] = known_.try_emplace(question, false);
  if (!is_new) return known->second;
  RoundWalk walk(values_, earlier, later, std::min(kMostOfAPair, kMostOfAll - steps_));
  known->second = walk.meets();
  steps_ += walk.steps();
  return known->second;
}

}  // namespace streamsan::analyzer
