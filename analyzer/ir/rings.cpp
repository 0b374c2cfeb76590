// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rings: a few slots that are used in turn.
//
//   slot = (slot + 1) % 3;    slot ^= 1;    slot = 1 - slot;    if (++slot == 3) slot = 0;    std::swap(front, back);
//
// What is done with a slot meets what was done with it K rounds ago, and nothing before that. So whoever looks at a
// loop, or at a method that is called again and again, has to look at K + 1 rounds, and this file says what K is. It
// reads the expressions that name elements and step integers; a number of slots that is no constant is named, so that
// one can be supposed for it.
//
// A swap of pointers is a ring without numbers: the values of two variables go round.
#include "analyzer/ir/rings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/polynomial.h"
#include "analyzer/ir/range.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// What stands behind `sign`: a number, or `$3` as its negative minus one. 0: neither.
std::int64_t behind(std::string_view text, std::string_view sign) {
  const std::size_t at = text.rfind(sign);
  if (at == std::string_view::npos) return 0;
  std::size_t begin = at + sign.size();
  const bool use = begin < text.size() && text[begin] == '$';
  begin += use ? 1 : 0;
  std::size_t end = begin;
  while (end < text.size() && is_digit(text[end])) ++end;
  constexpr std::size_t kMostDigits = 3;
  const bool whole = end == text.size() || text[end] == ' ' || text[end] == ')';
  if (end == begin || end - begin > kMostDigits || !whole) return 0;
  const std::int64_t number = std::stoll(std::string(text.substr(begin, end - begin)));
  return use ? -number - 1 : number;
}

class Finder {
 public:
  explicit Finder(const Function& function) : function_(function) {}

  void block(const Block& block) {
    for (const Op& op : block.ops) {
      indices(op.target);
      for (const Operand* operand : {&op.source, &op.stream, &op.event, &op.event2}) use(*operand);
      for (const Access& access : op.accesses) use(access.memory);
      const bool steps = op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Number &&
                         function_[op.target].type == TypeKind::Integer;
      if (!steps) continue;
      const Expr& next = function_[op.source.offset];
      if (next.constant == 0) restarted_.insert(op.target);
      if (std::ranges::find(next.uses, op.target) != next.uses.end()) stepped_.insert(op.target);
    }
    if (block.condition != kNoExpr) conditions_.push_back(block.condition);
  }

  Rings take() {
    for (const ExprId id : conditions_) {
      // `if (++slot == 3) slot = 0;`
      const Expr& condition = function_[id];
      const auto restarts = [&](PlaceId place) { return restarted_.contains(place) && stepped_.contains(place); };
      if (!std::ranges::any_of(condition.uses, restarts)) continue;
      const std::string text = numbered(function_, condition);
      for (const char* sign : {" == ", " >= "}) count(condition, behind(text, sign));
    }
    return std::move(rings_);
  }

 private:
  void use(const Operand& operand) {
    indices(operand.place);
    if (operand.offset != kNoExpr) expression(operand.offset);
  }

  void indices(PlaceId place) {
    for (; place != kNoPlace; place = function_[place].base)
      if (function_[place].index != kNoExpr) expression(function_[place].index);
  }

  void expression(ExprId id) {
    if (!seen_.insert(id).second) return;
    const Expr& expr = function_[id];
    if (expr.constant || expr.uses.empty()) return;
    const std::string text = numbered(function_, expr);
    count(expr, behind(text, " % "));
    if (const std::int64_t mask = behind(text, " & "); mask > 0 && (mask & (mask + 1)) == 0) count(expr, mask + 1);
    if (behind(text, " ^ ") == 1 || text.find("1 - $") != std::string::npos || text.starts_with("!$")) count(expr, 2);
    // `slot + 1 == 3 ? 0 : slot + 1`
    if (text.ends_with(" : 0") || text.find(" ? 0 : ") != std::string::npos)
      for (const char* sign : {" == ", " < ", " >= "}) count(expr, behind(text.substr(0, text.find(" ? ")), sign));
  }

  void count(const Expr& expr, std::int64_t slots) {
    if (slots > 0) {
      rings_.slots = std::max(rings_.slots, slots);
    } else if (slots < 0 && static_cast<std::size_t>(-slots - 1) < expr.uses.size()) {
      const PlaceId number = copied_from(expr.uses[static_cast<std::size_t>(-slots - 1)]);
      if (std::ranges::find(rings_.numbers, number) == rings_.numbers.end()) rings_.numbers.push_back(number);
    }
  }

  /// A reference to `slots[next % count]` keeps what `count` was.
  [[nodiscard]] PlaceId copied_from(PlaceId number) const {
    for (int steps = 0; steps < 8; ++steps) {
      const Op* only = only_store(function_, number);
      if (only == nullptr || only->kind != OpKind::Assign || only->source.kind != Operand::Kind::Value ||
          only->source.offset != kNoExpr || function_[number].base != kNoPlace)
        break;
      number = only->source.place;
    }
    return number;
  }

  const Function& function_;
  Rings rings_;
  std::set<ExprId> seen_;
  std::vector<ExprId> conditions_;
  std::set<PlaceId> restarted_, stepped_;
};

}  // namespace

Rings rings_of(const Function& function, const std::set<std::size_t>& blocks) {
  Finder finder(function);
  for (const std::size_t block : blocks) finder.block(function.blocks[block]);
  return finder.take();
}

Rings rings_of(const Function& function) {
  Finder finder(function);
  for (const Block& block : function.blocks) finder.block(block);
  return finder.take();
}

std::int64_t passed_round(const Function& function, const std::set<std::size_t>& blocks) {
  std::map<PlaceId, std::set<PlaceId>> from;
  for (const std::size_t block : blocks)
    for (const Op& op : function.blocks[block].ops) {
      if (op.kind != OpKind::Assign || op.source.kind != Operand::Kind::Value || op.source.offset != kNoExpr) continue;
      const TypeKind type = function[op.target].type;
      if (type != TypeKind::Integer && type != TypeKind::Other) from[op.target].insert(op.source.place);
    }
  const auto leads_to = [&](PlaceId start) {
    std::set<PlaceId> seen;
    std::vector<PlaceId> work{start};
    while (!work.empty()) {
      const auto sources = from.find(work.back());
      work.pop_back();
      if (sources == from.end()) continue;
      for (const PlaceId source : sources->second)
        if (seen.insert(source).second) work.push_back(source);
    }
    return seen;
  };
  std::int64_t most = 1;
  for (const auto& [place, sources] : from) {
    const std::set<PlaceId> reached = leads_to(place);
    if (!reached.contains(place)) continue;
    const auto goes_round = [&](PlaceId other) {
      return function[other].kind != Place::Kind::Temporary && leads_to(other).contains(place);
    };
    most = std::max<std::int64_t>(most, std::ranges::count_if(reached, goes_round));
  }
  return most;
}

bool may_be(const Function& function, PlaceId number, std::int64_t value) {
  // What it was copied from, on all ways.
  std::vector<PlaceId> same{number};
  constexpr std::size_t kMost = 8;
  for (std::size_t next = 0; next < same.size(); ++next)
    for (const Block& block : function.blocks)
      for (const Op& op : block.ops) {
        if (op.target != same[next]) continue;
        // By something that is not understood: std::max(slots, 3).
        const Place& place = function[same[next]];
        if (op.kind == OpKind::Fresh && place.kind == Place::Kind::Field && !place.name.starts_with('$')) return false;
        if (op.kind != OpKind::Assign) continue;
        if (op.source.kind == Operand::Kind::Value) {
          if (same.size() < kMost && std::ranges::find(same, op.source.place) == same.end())
            same.push_back(op.source.place);
        } else if (op.source.kind == Operand::Kind::Number) {
          const Expr& stored = function[op.source.offset];
          if (std::ranges::find(stored.uses, same[next]) != stored.uses.end()) continue;  // it is counted up
          const Range range = evaluate(numbered(function, stored),
                                       [](std::string_view) { return std::optional(Range{0, Range::kMost}); });
          const bool initial = range.number() && *range.number() < value;  // until it is set
          if (range.any() || (!initial && (value < range.low || value > range.high))) return false;
        }
      }
  const auto truth_at = [&](const Expr& condition, std::int64_t supposed) {
    return evaluate(numbered(function, condition),
                    [&](std::string_view) { return std::optional(Range::one(supposed)); })
        .truth();
  };
  constexpr std::int64_t kFewMore = 8;
  for (const Block& block : function.blocks) {
    if (block.condition == kNoExpr) continue;
    const Expr& condition = function[block.condition];
    if (condition.uses.size() != 1 || std::ranges::find(same, condition.uses[0]) == same.end()) continue;
    for (std::int64_t more = value + 1; more <= kFewMore; ++more)
      if (truth_at(condition, value) != truth_at(condition, more)) return false;
  }
  return true;
}

void suppose(Function& function, PlaceId number, std::int64_t value) {
  for (Expr& expr : function.exprs) {
    const auto use = std::ranges::find(expr.uses, number);
    if (use == expr.uses.end()) continue;
    const std::string pattern = numbered(function, expr);
    const std::size_t which = static_cast<std::size_t>(use - expr.uses.begin());
    std::string text;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
      if (pattern[at] != '$') {
        text += pattern[at];
        continue;
      }
      std::size_t end = at + 1;
      while (end < pattern.size() && is_digit(pattern[end])) ++end;
      const std::size_t named = end == at + 1 ? SIZE_MAX : std::stoul(pattern.substr(at + 1, end - at - 1));
      text += named == which             ? std::to_string(value)
              : named < expr.uses.size() ? function.spell(expr.uses[named])
                                         : pattern.substr(at, end - at);
      at = end - 1;
    }
    expr.text = std::move(text);
    expr.uses.erase(use);
    if (expr.uses.empty())
      expr.constant = evaluate(expr.text, [](std::string_view) { return std::optional<Range>(); }).number();
  }
  const ExprId supposed =
      function.add(Expr{.text = std::to_string(value), .uses = {}, .constant = std::optional(value)});
  for (Block& block : function.blocks)
    for (Op& op : block.ops)
      if (op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Value && op.source.place == number)
        op.source = {.kind = Operand::Kind::Number, .offset = supposed};
}

std::string as_written(const Function& function, PlaceId number) {
  std::string name = function.spell(number);
  const std::string_view size = ir::name(Hidden::Size);
  if (const std::size_t at = name.rfind(size); at != std::string::npos) name.replace(at, size.size(), "size()");
  return name;
}

}  // namespace streamsan::analyzer::ir
