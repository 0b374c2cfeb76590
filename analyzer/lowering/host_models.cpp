// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that a model describes: each action is given to who lowers it.
//
// What is lowered here are actions of one op, and wrappers: calls of which only the value counts, which is a stream, an
// event, a pointer or a view of memory that was there before.
#include "analyzer/lowering/host_models.h"

#include "analyzer/lowering/host_algorithms.h"
#include "analyzer/lowering/host_arguments.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_containers.h"
#include "analyzer/lowering/host_effects.h"
#include "analyzer/lowering/host_ends.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_libraries.h"
#include "analyzer/lowering/host_messages.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_tensors.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;

ModelledCalls::ModelledCalls(const Parts& parts)
    : unit_(parts.unit),
      scan_(parts.scan),
      out_(parts.out),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments),
      ends_(parts.ends),
      arguments_(parts.arguments),
      algorithms_(parts.algorithms),
      effects_(parts.effects),
      libraries_(parts.libraries),
      messages_(parts.messages),
      containers_(parts.containers),
      tensors_(parts.tensors) {}

namespace {

/// A message of no elements: it touches no memory.
bool is_empty(const Call& call) {
  const clang::Expr* const count = call.argument(call.model->count_argument);
  clang::Expr::EvalResult value;
  return count != nullptr && count->EvaluateAsInt(value, call.callee->getASTContext()) && value.Val.getInt() == 0;
}

}  // namespace

void ModelledCalls::apply(const Call& call) {
  containers_.change_size(call);
  switch (call.model->action) {
    case ActionKind::Effect:
      effects_.apply(call);
      break;
    case ActionKind::Nothing:
      arguments_.fresh_arguments(call);
      libraries_.make_handles(call);
      break;
    case ActionKind::SetHandleStream:
      return libraries_.set_handle_stream(call);
    case ActionKind::LibraryWork:
    case ActionKind::Communication:
      libraries_.work(call);
      break;
    case ActionKind::Wrapper:
      return wrapper(call);
    case ActionKind::Alias:
      alias(call);
      break;
    case ActionKind::Container:
      containers_.apply(call);
      return ends_.end_dying(call.site);
    case ActionKind::MakeCurrent:
      return tensors_.make_current(call);
    case ActionKind::GetCurrent:
      return values_.set_result(*call.expression, value(places_.current_stream()), places_.current_stream());
    case ActionKind::TensorMake:
      return tensors_.tensor_make(call);
    case ActionKind::TensorWork:
      return tensors_.tensor_work(call);
    case ActionKind::TensorCopy:
      return tensors_.tensor_copy(call);
    case ActionKind::KeepAlive:
      return keep_alive(call);
    case ActionKind::Elapsed:
      return elapsed(call);
    case ActionKind::Post:
      if (!is_empty(call)) messages_.post(call);
      break;
    case ActionKind::Complete:
      messages_.complete(call);
      arguments_.fresh_arguments(call);
      break;
    case ActionKind::HostTouch:
      if (is_empty(call)) break;
      arguments_.host_touch(call);
      if (!algorithms_.moves_elements(call)) algorithms_.forget_written(call);
      break;
    case ActionKind::MayThrowAway:
      throw_away(call);
      break;
    case ActionKind::SyncObject:
      return sync_object(call);
    case ActionKind::GroupBegin:
      out_.emit(start(OpKind::GroupBegin, call));
      break;
    case ActionKind::GroupEnd:
      out_.emit(start(OpKind::GroupEnd, call));
      break;
    case ActionKind::SetDevice:
      set_device(call);
      break;
    case ActionKind::SwapCaptureMode:
      swap_capture_mode(call);
      break;
  }
  ends_.end_dying(call.site);
  give_result(call);
}

void ModelledCalls::give_result(const Call& call) {
  if (llvm::isa<clang::CXXConstructExpr>(call.expression) || values_.result(call.expression) != nullptr) return;
  const clang::QualType type = call.callee->getReturnType();
  const TypeKind of = out_.kind(type);
  if (type->isReferenceType()) {
    // Most return what they were given: copy_(), operator<<.
    if (call.object != ir::kNoPlace) {
      values_.set_result(*call.expression, value(call.object), call.object);
    } else if (const clang::Expr* first = call.argument(0); first != nullptr && places_.place(first) != ir::kNoPlace) {
      values_.set_result(*call.expression, value(places_.place(first)), places_.place(first));
    }
  } else if (of != TypeKind::Other && of != TypeKind::Integer) {
    out_.emit_fresh(values_.result_place(*call.expression), call.site);
  }
}

void ModelledCalls::keep_alive(const Call& call) {
  ir::Op op = start(OpKind::KeepAlive, call);
  ir::Op named;
  arguments_.add_roles(call, named, 0);
  op.source = named.accesses.empty() ? unknown() : named.accesses.front().memory;
  op.stream = arguments_.stream_of(call);
  out_.emit(std::move(op));
}

void ModelledCalls::elapsed(const Call& call) {
  ir::Op op = start(OpKind::Elapsed, call);
  op.event = arguments_.operand_at(call, call.model->effect.event);
  op.event2 = arguments_.operand_at(call, call.model->effect.object);
  out_.emit(std::move(op));
}

void ModelledCalls::alias(const Call& call) {
  const ir::PlaceId target = arguments_.target_at(call, 0);
  const clang::Expr* memory = call.argument(call.model->value_argument);
  if (target != ir::kNoPlace && memory != nullptr) out_.emit_assign(target, values_.memory(memory), call.site);
}

void ModelledCalls::throw_away(const Call& call) {
  ir::Op named;
  arguments_.add_roles(call, named, 0);
  if (!named.accesses.empty())
    ends_.end_of_life(named.accesses.front().memory, ("is freed by " + call.model->name).c_str(), call.site);
}

void ModelledCalls::swap_capture_mode(const Call& call) {
  ir::Op op = start(OpKind::SwapCaptureMode, call);
  const ir::PlaceId mode = arguments_.target_at(call, call.model->value_argument == kObject ? kObject : 0);
  op.source = mode == ir::kNoPlace ? unknown() : address(mode);
  out_.emit(std::move(op));
}

void ModelledCalls::sync_object(const Call& call) {
  ir::Op op = start(OpKind::SyncStream, call);
  op.stream = arguments_.operand_at(call, kObject);
  out_.emit(std::move(op));
}

void ModelledCalls::set_device(const Call& call) {
  ir::Op op = start(OpKind::SetDevice, call);
  const clang::Expr* given = call.argument(call.model->value_argument);
  if (given != nullptr && given->getType()->isIntegerType()) {
    op.source = {.kind = Operand::Kind::Number, .offset = out_.add(values_.scalar(given))};
    if (const std::optional<std::int64_t> device = constant(given, unit_.context)) op.detail = std::to_string(*device);
  }
  out_.emit(std::move(op));
}

void ModelledCalls::wrapper(const Call& call) {
  const Model& model = *call.model;
  const bool construction = llvm::isa<clang::CXXConstructExpr>(call.expression);
  const clang::QualType type = call.expression->getType();
  const clang::Expr* viewed =
      model.value_argument == kObject ? call.object_expression : call.argument(model.value_argument);
  if (!construction && !call.callee->getReturnType()->isReferenceType() && unit_.symbols.is_tensor(type) &&
      viewed != nullptr && unit_.symbols.is_tensor(viewed->getType()))
    return tensors_.tensor_view(call);
  const TypeKind of = out_.kind(type);
  Operand given;
  ir::PlaceId same = ir::kNoPlace;
  if (model.stream_from == StreamFrom::Handle || model.stream_from == StreamFrom::Default) {
    given = arguments_.stream_of(call);
  } else if (model.value_argument >= 0) {
    const clang::Expr* argument = call.argument(model.value_argument);
    given = of == TypeKind::Stream ? values_.stream(argument) : values_.operand(argument);
    // What leads to memory: raw_pointer_cast(v.data()), begin(v).
    if (of == TypeKind::Pointer || of == TypeKind::Object)
      if (const Operand block = values_.memory(argument); block.kind != Operand::Kind::Unknown) given = block;
  } else {
    given = arguments_.operand_at(call, kObject);
    same = call.object;
    // A view of a tensor has its memory; raw pointers are what their class holds.
    if (call.object != ir::kNoPlace && unit_.symbols.points(out_.type_of(call.object)) && of == TypeKind::Pointer) {
      given = value(places_.data(call.object));
      same = ir::kNoPlace;
    }
  }
  if (construction || scan_.destinations.contains(strip(call.expression))) {
    const ir::PlaceId target = construction ? call.object : places_.destination(*call.expression, type);
    if (of == TypeKind::Object) {
      if (given.kind == Operand::Kind::Value && out_.kind(given.place) == TypeKind::Object) {
        assignments_.copy_object(target, given.place, type);
      } else {
        out_.emit_assign(places_.data(target), given, call.site);
      }
    } else {
      out_.emit_assign(target, given, call.site);
    }
    return values_.set_result(*call.expression, value(target), target);
  }
  if (same == ir::kNoPlace && given.kind == Operand::Kind::Value) same = given.place;
  values_.set_result(*call.expression, given, same);
}

}  // namespace streamsan::analyzer::host
