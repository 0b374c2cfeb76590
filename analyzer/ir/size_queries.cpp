// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/ir/size_queries.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <vector>

namespace streamsan::analyzer::ir {
namespace {

/// The variable that `op`, a call of CUB, is given as its memory.
PlaceId storage(const Op& op) {
  if (op.kind != OpKind::Enqueue || op.work != Work::Library || !op.name.starts_with("cub::") || op.accesses.empty())
    return kNoPlace;
  const Operand& first = op.accesses.front().memory;
  return first.kind == Operand::Kind::Value && first.offset == kNoExpr ? first.place : kNoPlace;
}

bool is_address_of(const Operand& operand, PlaceId variable) {
  return operand.kind == Operand::Kind::Address && operand.place == variable;
}

/// `op` gives the variable another value, or may.
bool stores(const Op& op, PlaceId variable) {
  return op.target == variable || is_address_of(op.source, variable) || is_address_of(op.object, variable) ||
         std::ranges::any_of(op.arguments, [&](const Operand& given) { return is_address_of(given, variable); });
}

bool stores_null(const Op& op, PlaceId variable) {
  return op.target == variable && op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Null;
}

class Queries {
 public:
  explicit Queries(Function& function) : function_(function), before_(function.blocks.size()) {
    for (std::size_t i = 0; i < function.blocks.size(); ++i)
      for (const BlockId next : function.blocks[i].successors) before_[static_cast<std::size_t>(next)].push_back(i);
  }

  void drop() {
    for (std::size_t number = 0; number < function_.blocks.size(); ++number) {
      std::vector<Op>& ops = function_.blocks[number].ops;
      std::vector<bool> asks(ops.size());
      for (std::size_t i = 0; i < ops.size(); ++i) asks[i] = is_query(number, i);
      std::size_t at = 0;
      std::erase_if(ops, [&](const Op&) { return asks[at++]; });
    }
  }

 private:
  enum class Held { Null, Other, Open };

  static Held held_after(std::span<const Op> ops, PlaceId variable) {
    for (const Op& op : std::views::reverse(ops)) {
      if (stores_null(op, variable)) return Held::Null;
      if (stores(op, variable)) return Held::Other;
    }
    return Held::Open;
  }

  [[nodiscard]] bool is_query(std::size_t block, std::size_t index) const {
    const std::vector<Op>& ops = function_.blocks[block].ops;
    const PlaceId variable = storage(ops[index]);
    if (variable == kNoPlace) return false;
    if (function_[variable].kind == Place::Kind::Parameter) return asks_for_caller(ops[index], variable);
    if (function_[variable].kind != Place::Kind::Local) return false;
    const Held here = held_after(std::span(ops).first(index), variable);
    if (here != Held::Open) return here == Held::Null;
    if (block == 0) return false;
    std::vector<bool> seen(function_.blocks.size());
    std::vector<std::size_t> ways = before_[block];
    while (!ways.empty()) {
      const std::size_t at = ways.back();
      ways.pop_back();
      if (seen[at]) continue;
      seen[at] = true;
      const Held held = held_after(function_.blocks[at].ops, variable);
      if (held == Held::Other || (held == Held::Open && at == 0)) return false;
      if (held == Held::Open) ways.insert(ways.end(), before_[at].begin(), before_[at].end());
    }
    return true;
  }

  /// `if (!memory) Sort(memory, bytes, ...); else Sort(memory, bytes, ..., stream);`: whether the caller's memory is
  /// null is not known, but the call that is meant to work stands further down, with the stream that this one leaves
  /// out.
  [[nodiscard]] bool asks_for_caller(const Op& op, PlaceId variable) const {
    if (!op.implicit_stream) return false;
    return std::ranges::any_of(function_.blocks, [&](const Block& block) {
      return std::ranges::any_of(block.ops, [&](const Op& other) {
        return !other.implicit_stream && other.name == op.name && storage(other) == variable &&
               function_[other.site].line > function_[op.site].line;
      });
    });
  }

  Function& function_;
  std::vector<std::vector<std::size_t>> before_;
};

}  // namespace

void drop_size_queries(Program& program) {
  for (auto& [usr, function] : program.functions)
    if (std::ranges::any_of(function.blocks, [](const Block& block) {
          return std::ranges::any_of(block.ops, [](const Op& op) { return storage(op) != kNoPlace; });
        }))
      Queries(function).drop();
}

}  // namespace streamsan::analyzer::ir
