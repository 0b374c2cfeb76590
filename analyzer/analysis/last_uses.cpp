// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of inlined callees that nothing uses any more.
//
// A closed function has the variables of all its callees, separate ones for each call. Their values would be carried
// along through the whole function, and merged at the head of every loop around the call. So a value is dropped at the
// start of a block if every path from there stores to the whole variable before it uses the variable.
//
// A variable is followed only if it is named in assignments, expressions and the end of its life, and nowhere else. A
// handle that an operation is given is also looked at later, to say what would have ordered the operation. And nothing
// may hold the address of the variable.
#include "analyzer/analysis/last_uses.h"

#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::OpKind;

/// All variables that the path names, those in indices included.
template <typename Visit>
void for_each_variable(const ir::Function& function, ir::PlaceId place, const Visit& visit) {
  for (; place != ir::kNoPlace; place = function[place].base) {
    if (function[place].base == ir::kNoPlace) visit(place);
    if (function[place].index == ir::kNoExpr) continue;
    for (const ir::PlaceId use : function[function[place].index].uses) for_each_variable(function, use, visit);
  }
}

template <typename Visit>
void for_each_variable(const ir::Function& function, ir::ExprId expr, const Visit& visit) {
  if (expr == ir::kNoExpr) return;
  for (const ir::PlaceId use : function[expr].uses) for_each_variable(function, use, visit);
}

/// The variables that one op uses, except the whole variable that it writes.
template <typename Visit>
void for_each_use(const ir::Function& function, const ir::Op& op, const Visit& visit) {
  if (op.target != ir::kNoPlace && function[op.target].base != ir::kNoPlace)
    for_each_variable(function, op.target, visit);
  ir::for_each_operand(op, [&](const ir::Operand& operand) {
    for_each_variable(function, operand.place, visit);
    for_each_variable(function, operand.offset, visit);
  });
  for (const ir::Access& access : op.accesses) for_each_variable(function, access.bytes, visit);
}

bool only_computes(const ir::Op& op) {
  return op.kind == OpKind::Assign || op.kind == OpKind::Fresh || op.kind == OpKind::EndOfLife;
}

}  // namespace

LastUses::LastUses(const ir::Function& function) : function_(function), numbers_(function.places.size(), kNotFollowed) {
  std::vector<bool> left(function.places.size());
  const auto leave = [&](ir::PlaceId variable) { left[static_cast<std::size_t>(variable)] = true; };
  for (const ir::Block& block : function.blocks)
    for (const ir::Op& op : block.ops) {
      if (!only_computes(op)) {
        for_each_use(function, op, leave);
        for_each_variable(function, op.target, leave);
      } else if (op.source.kind == ir::Operand::Kind::Address && op.kind == OpKind::Assign) {
        leave(ir::root(function, op.source.place).place);
      }
    }
  for (std::size_t id = 0; id < left.size(); ++id)
    if (!left[id] && function.places[id].inlined) numbers_[id] = count_++;
  if (count_ > 0) follow();
}

void LastUses::follow() {
  const std::size_t blocks = function_.blocks.size();
  const Set none((count_ + 63) / 64);
  std::vector<Set> stored(blocks, none);
  alive_.assign(blocks, none);
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto use = [&](ir::PlaceId variable) {
      const std::uint32_t number = numbers_[static_cast<std::size_t>(variable)];
      if (number != kNotFollowed && !has(stored[block], number)) put(alive_[block], number);
    };
    for (const ir::Op& op : function_.blocks[block].ops) {
      for_each_use(function_, op, use);
      if (op.target == ir::kNoPlace) continue;
      const std::uint32_t number = numbers_[static_cast<std::size_t>(op.target)];
      if (number != kNotFollowed) put(stored[block], number);
    }
    for_each_variable(function_, function_.blocks[block].condition, use);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t block = blocks; block-- > 0;)
      for (const ir::BlockId next : function_.blocks[block].successors)
        for (std::size_t word = 0; word < none.size(); ++word) {
          const std::uint64_t more =
              alive_[static_cast<std::size_t>(next)][word] & ~stored[block][word] & ~alive_[block][word];
          alive_[block][word] |= more;
          changed = changed || more != 0;
        }
  }
}

}  // namespace streamsan::analyzer
