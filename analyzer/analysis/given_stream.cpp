// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/analysis/given_stream.h"

#include <algorithm>
#include <vector>

#include "analyzer/ir/unnamed.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::Op;
using ir::Operand;
using ir::OpKind;

bool used(const ir::Function& function, ir::PlaceId place) {
  bool result = false;
  for (const ir::Block& block : function.blocks)
    for (const Op& op : block.ops) {
      result = result || op.target == place;
      ir::for_each_operand(op, [&](const Operand& operand) { result = result || operand.place == place; });
    }
  return result;
}

bool asks_about(const ir::Function& function, const ir::Block& block, ir::PlaceId place) {
  return block.condition != ir::kNoExpr &&
         std::ranges::find(function[block.condition].uses, place) != function[block.condition].uses.end();
}

}  // namespace

bool is_default(const Operand& stream) {
  return stream.kind == Operand::Kind::DefaultStream || stream.kind == Operand::Kind::LegacyStream;
}

ir::PlaceId stream_parameter(const ir::Function& function, const ir::Block& block) {
  ir::PlaceId only = ir::kNoPlace;
  for (const ir::PlaceId place : function.parameters) {
    if (function[place].type != ir::TypeKind::Stream) continue;
    if (only != ir::kNoPlace || ir::is_unnamed_parameter(function[place])) return ir::kNoPlace;
    only = place;
  }
  if (only == ir::kNoPlace || function[only].reference || !used(function, only)) return ir::kNoPlace;
  const auto number = [&](const ir::Block& of) { return static_cast<std::size_t>(&of - function.blocks.data()); };
  const bool asked = std::ranges::any_of(function.blocks, [&](const ir::Block& other) {
    return asks_about(function, other, only) && ir::reached_behind(function, number(other))[number(block)];
  });
  return asked ? ir::kNoPlace : only;
}

bool asked_about(const ir::Function& function, ir::PlaceId place) {
  return std::ranges::any_of(function.blocks,
                             [&](const ir::Block& block) { return asks_about(function, block, place); });
}

bool orders_default_stream(const ir::Function& function) {
  return std::ranges::any_of(function.blocks, [](const ir::Block& block) {
    return std::ranges::any_of(block.ops, [](const Op& op) {
      return (op.kind == OpKind::Record || op.kind == OpKind::Wait) && is_default(op.stream);
    });
  });
}

ir::PlaceId source(const ir::Function& function, ir::PlaceId memory) {
  constexpr int kMostCopies = 4;
  for (int copies = 0; copies < kMostCopies && memory != ir::kNoPlace; ++copies) {
    const Op* only = ir::only_store(function, memory);
    if (only == nullptr || only->kind != OpKind::Assign || only->source.kind != Operand::Kind::Value) return memory;
    memory = only->source.place;
  }
  return memory;
}

bool share_memory(const ir::Function& function, const Op& one, const Op& other) {
  const auto known = [](const Operand& memory) {
    return memory.place != ir::kNoPlace &&
           (memory.kind == Operand::Kind::Value || memory.kind == Operand::Kind::Address);
  };
  return std::ranges::any_of(one.accesses, [&](const ir::Access& mine) {
    return known(mine.memory) && std::ranges::any_of(other.accesses, [&](const ir::Access& its) {
             if (!known(its.memory) || its.memory.kind != mine.memory.kind) return false;
             const auto writes = [](ir::Mode mode) { return mode == ir::Mode::Write || mode == ir::Mode::ReadWrite; };
             const bool written = writes(its.mode) || writes(mine.mode);
             if (mine.memory.kind == Operand::Kind::Address) return written && mine.memory.place == its.memory.place;
             return written && source(function, mine.memory.place) == source(function, its.memory.place);
           });
  });
}

}  // namespace streamsan::analyzer
