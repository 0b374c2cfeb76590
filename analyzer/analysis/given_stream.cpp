// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/analysis/given_stream.h"

#include <algorithm>
#include <vector>

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/ir/walk.h"

namespace streamsan::analyzer {
namespace {

using ir::Op;
using ir::Operand;
using ir::OpKind;
using ir::Place;

template <typename Is>
bool has_op(const ir::Function& function, Is is) {
  return std::ranges::any_of(function.blocks,
                             [&](const ir::Block& block) { return std::ranges::any_of(block.ops, is); });
}

bool used(const ir::Function& function, ir::PlaceId place) {
  bool result = false;
  for (const ir::Block& block : function.blocks)
    for (const Op& op : block.ops) {
      result = result || op.target == place;
      ir::for_each_operand(op, [&](const Operand& operand) { result = result || operand.place == place; });
    }
  return result;
}

/// A reference that the function never sets, and on which it works itself: `const cudaStream_t&`.
bool only_read(const ir::Function& function, ir::PlaceId reference) {
  return !has_op(function, [&](const Op& op) { return op.target == reference; }) &&
         has_op(function, [&](const Op& op) { return op.kind == OpKind::Enqueue && op.stream.place == reference; });
}

/// `cublasSetStream(handle, context.stream)`. The stream of a handle that nobody has set is the default one.
bool set_here(const ir::Function& function, ir::PlaceId stream) {
  return has_op(function, [&](const Op& op) {
    return op.target == stream && op.kind == OpKind::Assign && op.source.kind == Operand::Kind::Value;
  });
}

/// `cudaStream_t s = 0;`
bool set_to_default(const ir::Function& function, ir::PlaceId stream) {
  return has_op(function, [&](const Op& op) {
    return op.target == stream && op.kind == OpKind::Assign &&
           (op.source.kind == Operand::Kind::Null || is_default(op.source));
  });
}

/// A member of the object itself, and not what it points to.
bool is_own_member(const ir::Function& function, ir::PlaceId place) {
  if (place == ir::kNoPlace || function[place].kind != Place::Kind::Field) return false;
  const ir::Root root = ir::root(function, place);
  return root.place != ir::kNoPlace && function[root.place].kind == Place::Kind::This && !root.through_pointer;
}

/// `handle_.stream()`, `get_stream(handle_)` of a member that is no pointer: mostly this class has made the handle, and
/// the streams of libraries' handles wait for the default one until somebody sets another one.
bool comes_from_member(const ir::Function& function, ir::PlaceId stream) {
  const ir::PlaceId from = source(function, stream);
  if (from == ir::kNoPlace) return false;
  if (ir::is(function[from], ir::Hidden::Stream) && is_own_member(function, from)) return true;
  const Op* call = ir::only_store(function, from);
  if (call == nullptr || call->kind != OpKind::Call) return false;
  const auto is_member = [&](const Operand& object) {
    return object.kind == Operand::Kind::Address && is_own_member(function, object.place) &&
           function[object.place].type == ir::TypeKind::Object;
  };
  // With several arguments it is not known whose stream it is.
  if (call->object.kind != Operand::Kind::None) return is_member(call->object);
  return call->arguments.size() == 1 && is_member(call->arguments.front());
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
  if (only == ir::kNoPlace || !used(function, only)) return ir::kNoPlace;
  if (function[only].reference && !only_read(function, only)) return ir::kNoPlace;
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

bool created_here(const ir::Function& function, ir::PlaceId place) {
  return has_op(function, [&](const Op& op) { return op.target == place && op.kind == OpKind::CreateStream; });
}

bool perhaps_default(const ir::Function& function, ir::PlaceId stream) {
  return has_op(function, [&](const Op& op) {
    return op.target == stream && (op.kind != OpKind::Assign || op.source.kind != Operand::Kind::Value);
  });
}

bool trades_tensors(const ir::Function& function) {
  for (std::size_t i = 0; i < function.places.size(); ++i) {
    if (!ir::is_tensor_class(function.places[i].owner)) continue;
    const ir::PlaceId root = ir::root(function, static_cast<ir::PlaceId>(i)).place;
    if (root == ir::kNoPlace) continue;
    const Place& variable = function[root];
    if (variable.kind == Place::Kind::Parameter || variable.kind == Place::Kind::This ||
        variable.name == ir::name(ir::Hidden::Result))
      return true;
  }
  return false;
}

bool enqueues_on_parameter(const ir::Program& program, const std::string& callee) {
  const auto found = program.functions.find(callee);
  if (found == program.functions.end()) return false;
  const ir::Function& body = found->second;
  const auto on_parameter = [&](const Op& op) {
    return op.stream.place != ir::kNoPlace && body[op.stream.place].kind == Place::Kind::Parameter;
  };
  // A function that waits for its stream ends its own work: a clock, a reduction to a number.
  const bool waits = has_op(body, [&](const Op& op) {
    return op.kind == OpKind::SyncDevice || (op.kind == OpKind::SyncStream && on_parameter(op));
  });
  return !waits && has_op(body, [&](const Op& op) { return op.kind == OpKind::Enqueue && on_parameter(op); });
}

bool is_at_hand(const ir::Function& function, const ir::Program& program, ir::PlaceId stream) {
  const Place& place = function[stream];
  const bool variable =
      place.kind == Place::Kind::Local || place.kind == Place::Kind::Temporary || place.kind == Place::Kind::Global;
  if (variable) {
    if (comes_from_member(function, stream)) return false;
  } else {
    if (place.kind != Place::Kind::Field) return false;
    const ir::PlaceId root = ir::root(function, stream).place;
    if (root == ir::kNoPlace || function[root].kind != Place::Kind::Parameter) return false;
    if (ir::is(place, ir::Hidden::Stream) && !set_here(function, stream)) return false;
    const auto field = program.fields.find(ir::field_key(function, stream));
    if (field != program.fields.end() && (field->second.stream_kind || field->second.unset)) return false;
  }
  return !created_here(function, stream) && !set_to_default(function, stream) && !asked_about(function, stream);
}

bool orders_default_stream(const ir::Function& function) {
  return has_op(function, [](const Op& op) {
    return (op.kind == OpKind::Record || op.kind == OpKind::Wait) && is_default(op.stream);
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
