// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that a model describes by a Deed: library handles, wrappers whose value is all that counts, containers, touches
// of memory by the host.
//
// A library handle is a value; the stream it was given is kept behind it, in `$stream`, so that all copies of the
// handle see it. A handle that was just made works on the default stream.
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

#include "analyzer/lowering/host_body.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;
using ordering::MemoryKind;

void Body::apply(const Call& call) {
  switch (call.model->deed) {
    case DeedKind::Effect:
      apply_effect(call);
      break;
    case DeedKind::Nothing:
      hand_over_events(call);
      fresh_arguments(call);
      make_library_handles(call);
      break;
    case DeedKind::SetHandleStream:
      return set_handle_stream(call);
    case DeedKind::LibraryWork:
    case DeedKind::Communication:
      library_work(call);
      break;
    case DeedKind::Wrapper:
      return wrapper(call);
    case DeedKind::Container:
      container(call);
      return end_dying(call);
    case DeedKind::MakeCurrent:
      return make_current(call);
    case DeedKind::GetCurrent:
      return set_result(call, value(current_stream()), current_stream());
    case DeedKind::TensorMake:
      return tensor_make(call);
    case DeedKind::TensorWork:
      return tensor_work(call);
    case DeedKind::TensorCopy:
      return tensor_copy(call);
    case DeedKind::KeepAlive: {
      ir::Op op = start(OpKind::KeepAlive, call);
      ir::Op named;
      add_roles(call, named, 0);
      op.source = named.accesses.empty() ? unknown() : named.accesses.front().memory;
      op.stream = stream_of(call);
      emit(std::move(op));
      return;
    }
    case DeedKind::Elapsed: {
      ir::Op op = start(OpKind::Elapsed, call);
      op.event = operand_at(call, call.model->effect.event);
      op.event2 = operand_at(call, call.model->effect.object);
      emit(std::move(op));
      return;
    }
    case DeedKind::HostTouch:
      host_touch(call);
      break;
    case DeedKind::MayThrowAway: {
      ir::Op named;
      add_roles(call, named, 0);
      if (!named.accesses.empty())
        end_of_life(named.accesses.front().memory, ("is freed by " + call.model->name).c_str(), call.site);
      break;
    }
    case DeedKind::SyncObject:
      return sync_object(call);
    case DeedKind::GroupBegin:
      emit(start(OpKind::GroupBegin, call));
      break;
    case DeedKind::GroupEnd:
      emit(start(OpKind::GroupEnd, call));
      break;
    case DeedKind::SetDevice:
      set_device(call);
      break;
    case DeedKind::SwapCaptureMode: {
      ir::Op op = start(OpKind::SwapCaptureMode, call);
      const ir::PlaceId mode = target_at(call, call.model->value_argument == kObject ? kObject : 0);
      op.source = mode == ir::kNoPlace ? unknown() : address(mode);
      emit(std::move(op));
      break;
    }
  }
  end_dying(call);
  // What the call is worth: nothing is known of it, unless the effect made it.
  if (llvm::isa<clang::CXXConstructExpr>(call.expression) || results_.contains(strip(call.expression))) return;
  const clang::QualType type = call.callee->getReturnType();
  const TypeKind of = kind(type);
  if (type->isReferenceType()) {
    // Most return what they were given: copy_(), operator<<.
    if (call.object != ir::kNoPlace) {
      set_result(call, value(call.object), call.object);
    } else if (const clang::Expr* first = argument(call, 0); first != nullptr && place(first) != ir::kNoPlace) {
      set_result(call, value(place(first)), place(first));
    }
  } else if (of != TypeKind::Other && of != TypeKind::Integer) {
    emit_fresh(result_place(call), call.site);
  }
}

void Body::sync_object(const Call& call) {
  ir::Op op = start(OpKind::SyncStream, call);
  op.stream = operand_at(call, kObject);
  emit(std::move(op));
}

void Body::set_device(const Call& call) {
  ir::Op op = start(OpKind::SetDevice, call);
  const clang::Expr* given = argument(call, call.model->value_argument);
  const std::optional<std::int64_t> device =
      given == nullptr || !given->getType()->isIntegerType() ? std::nullopt : constant(given);
  if (device) op.detail = std::to_string(*device);
  emit(std::move(op));
}

void Body::set_handle_stream(const Call& call) {
  const int position = call.model->handle_argument >= 0 ? call.model->handle_argument : kObject;
  emit_assign(handle_stream(call, position), stream_of(call), call.site);
}

void Body::hand_over_events(const Call& call) {
  // Another process may record it.
  if (!llvm::StringRef(call.known->callee.name).contains("IpcGetEventHandle")) return;
  for (const clang::Expr* given : call.arguments)
    if (kind(given->getType()) == TypeKind::Event)
      emit({.kind = OpKind::Escape, .site = call.site, .source = operand(given)});
}

void Body::make_library_handles(const Call& call) {
  const llvm::StringRef name = call.known->callee.name;
  if (!name.contains("Create") && !name.contains("Plan")) return;
  const clang::Expr* out = argument(call, 0);
  if (out == nullptr || !out->getType()->isPointerType()) return;
  const ir::PlaceId handle = target_of(out);
  const TypeKind of = kind(handle);
  if (of != TypeKind::Pointer && of != TypeKind::Integer) return;
  emit_assign(field(pointee(value(handle), {}), "$stream", "", TypeKind::Stream),
              {.kind = Operand::Kind::DefaultStream}, call.site);
}

void Body::library_work(const Call& call) {
  const Model& model = *call.model;
  if (model.null_argument >= 0)
    if (const clang::Expr* storage = argument(call, model.null_argument)) {
      if (operand(storage).kind == Operand::Kind::Null) return fresh_arguments(call);
    }
  ir::Op op = start(OpKind::Enqueue, call);
  op.work = model.deed == DeedKind::Communication ? ir::Work::Communication : ir::Work::Library;
  bool waits = model.effect.form == api::CallForm::Synchronous;
  int shift = 0;
  if (model.after_policy) {
    op.stream = {.kind = Operand::Kind::DefaultStream};
    // The algorithms take it as a reference to a base class that knows no stream.
    const clang::Expr* first = call.arguments.empty() ? nullptr : strip(call.arguments.front());
    const Policy policy = first == nullptr ? Policy::None : unit_.symbols.policy(first->getType());
    if (policy != Policy::None) {
      shift = 1;
      if (policy == Policy::Host) return fresh_arguments(call);
      waits = policy == Policy::Waits;
      const Operand given = operand(first);
      const bool bare = given.kind != Operand::Kind::Value || function_[given.place].kind == ir::Place::Kind::Global;
      if (!bare) op.stream = given;
    } else if (first != nullptr) {
      // Without a policy the iterators decide: of host memory, the host does the work.
      const auto on_host = [&](clang::QualType of) {
        const auto owner = unit_.symbols.owner(of);
        return owner && owner->memory == MemoryKind::Pageable;
      };
      const Operand given = memory(first);
      const bool host_block = given.kind == Operand::Kind::Value && function_[given.place].name == "$data" &&
                              on_host(type_of(function_[given.place].base));
      if (on_host(first->getType()) || host_block) return host_touch(call);
    }
  } else {
    op.stream = stream_of(call, &op);
  }
  add_roles(call, op, shift);
  const Operand on = op.stream;
  const bool none = op.accesses.empty();
  if (none) op.accesses.push_back({.memory = unknown(), .mode = ir::Mode::Unknown});
  emit(std::move(op));
  if (!waits) return;
  wait_for_results(call, on);
}

void Body::wait_for_results(const Call& call, const Operand& stream) {
  ir::Op sync = start(OpKind::SyncStream, call);
  sync.work = ir::Work::Library;
  sync.stream = stream;
  emit(std::move(sync));
}

void Body::wrapper(const Call& call) {
  const Model& model = *call.model;
  const bool construction = llvm::isa<clang::CXXConstructExpr>(call.expression);
  Operand given;
  ir::PlaceId same = ir::kNoPlace;
  if (model.stream_from == StreamFrom::Handle || model.stream_from == StreamFrom::Default) {
    given = stream_of(call);
  } else if (model.value_argument >= 0) {
    const clang::Expr* of = argument(call, model.value_argument);
    given = kind(call.expression->getType()) == TypeKind::Stream ? stream(of) : operand(of);
    // What leads to memory: raw_pointer_cast(v.data()), begin(v).
    if (kind(call.expression->getType()) == TypeKind::Pointer || kind(call.expression->getType()) == TypeKind::Object)
      if (const Operand block = memory(of); block.kind != Operand::Kind::Unknown) given = block;
  } else {
    given = operand_at(call, kObject);
    same = call.object;
    // A view of a tensor has its memory; raw pointers are what their class holds.
    if (call.object != ir::kNoPlace && unit_.symbols.points(type_of(call.object)) &&
        kind(call.expression->getType()) == TypeKind::Pointer) {
      given = value(data(call.object));
      same = ir::kNoPlace;
    }
  }
  const clang::QualType type = call.expression->getType();
  const TypeKind of = kind(type);
  if (construction || scan_.destinations.contains(strip(call.expression))) {
    const ir::PlaceId target = construction ? call.object : destination(*call.expression, type);
    if (of == TypeKind::Object) {
      if (given.kind == Operand::Kind::Value && kind(given.place) == TypeKind::Object) {
        copy_object(target, given.place, type);
      } else {
        emit_assign(data(target), given, call.site);
      }
    } else {
      emit_assign(target, given, call.site);
    }
    return set_result(call, value(target), target);
  }
  if (same == ir::kNoPlace && given.kind == Operand::Kind::Value) same = given.place;
  set_result(call, given, same);
}

void Body::host_touch(const Call& call) {
  ir::Op op = start(OpKind::HostAccess, call);
  add_roles(call, op, 0);
  std::erase_if(op.accesses, [](const ir::Access& access) {
    return access.memory.kind != Operand::Kind::Value && access.memory.kind != Operand::Kind::Address;
  });
  if (!op.accesses.empty()) emit(std::move(op));
  fresh_arguments(call);
}

}  // namespace streamsan::analyzer::host
