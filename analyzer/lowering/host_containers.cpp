// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Containers and smart pointers.
//
// A container is its elements and a block, `$data`. Growing ends the block and makes another. push_back() mostly
// leaves the block where it is: afterwards nothing is known of it, which hides what a copy in flight may lose.
// A moved container takes its block along. A smart pointer's block is what it points to.
#include "analyzer/lowering/host_body.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;
using ordering::MemoryKind;

void Body::container(const Call& call) {
  const Model& model = *call.model;
  if (model.member == Member::Make) return make_container(call);
  if (call.object == ir::kNoPlace) {
    if (!call.callee->getReturnType()->isVoidType() && kind(call.callee->getReturnType()) == TypeKind::Pointer)
      emit_fresh(result_place(call), call.site);
    return;
  }
  const clang::QualType type = type_of(call.object);
  const clang::QualType returned = call.callee->getReturnType();
  switch (model.member) {
    case Member::None:
    case Member::Make:
      return;
    case Member::Data: {
      const bool pointer_like = unit_.symbols.points(type);
      if (pointer_like && returned->isReferenceType()) {
        const ir::PlaceId object = pointee(value(data(call.object)), returned.getNonReferenceType());
        return set_result(call, value(object), object);
      }
      const auto owner = unit_.symbols.owner(type);
      const bool inside = !pointer_like && !unit_.symbols.has_block(type) && !(owner && owner->tensor);
      // The elements of a vector of handles are known by the vector.
      const clang::QualType pointed = returned->isPointerType() ? returned->getPointeeType() : clang::QualType();
      const TypeKind of = kind(pointed);
      const bool handles = !pointed.isNull() && !pointer_like && of != TypeKind::Other && of != TypeKind::Integer &&
                           !(owner && owner->tensor) && !pointed->isVoidType();
      if (inside || handles) return set_result(call, address(call.object));
      Operand block = value(data(call.object));
      if (call.known->callee.name == "element_ptr" && !call.arguments.empty())
        block = moved(block, steps(expr(call.arguments.front()), returned));
      if (call.known->callee.name == "end" || call.known->callee.name == "cend") {
        ir::Expr size{.text = function_.spell(call.object) + ".size()", .uses = {}, .constant = {}};
        block = moved(block, function_.add(std::move(size)));
      }
      // A tensor's storage is known by the block: storage().data_ptr().
      const bool same = returned->isReferenceType() && block.kind == Operand::Kind::Value;
      return set_result(call, block, same ? block.place : ir::kNoPlace);
    }
    case Member::At: {
      const bool pointer_like = unit_.symbols.points(type);
      ir::ExprId index = call.arguments.empty() ? ir::kNoExpr : expr(call.arguments.front());
      if (index == ir::kNoExpr) {
        index = call.known->callee.name == "back"
                    ? function_.add(
                          ir::Expr{.text = function_.spell(call.object) + ".size() - 1", .uses = {}, .constant = {}})
                    : number(0);
      }
      const clang::QualType inner = returned.getNonReferenceType();
      const ir::PlaceId at = pointer_like ? subscript(value(data(call.object)), index, inner)
                             : unit_.symbols.views(type) && !unit_.symbols.has_block(type)
                                 ? subscript(value(data(call.object)), index, inner)
                                 : element(call.object, index, inner);
      return set_result(call, value(at), at);
    }
    case Member::Grow:
      return grow_container(call);
    case Member::Swap: {
      const clang::Expr* other = argument(call, 0);
      return swap_places(call, call.object, other == nullptr ? ir::kNoPlace : place(other));
    }
    case Member::Release:
      if (kind(returned) == TypeKind::Pointer) {
        const ir::PlaceId out = result_place(call);
        emit_assign(out, value(data(call.object)), call.site);
      }
      return emit_assign(data(call.object), {.kind = Operand::Kind::Null}, call.site);
    case Member::Reset:
      return reset_container(call);
    case Member::End:
      return destroy_owner(call.object, type, call.site, nullptr);
  }
}

void Body::make_container(const Call& call) {
  const Model& model = *call.model;
  const bool construction = llvm::isa<clang::CXXConstructExpr>(call.expression);
  const ir::PlaceId object = construction ? call.object : result_place(call);
  if (object == ir::kNoPlace) return;
  if (type_of(object).isNull()) typed(object, call.expression->getType());
  const clang::QualType type = call.expression->getType();
  const clang::Expr* first = argument(call, 0);
  const bool pointer_like = unit_.symbols.points(type);
  const auto is_same = [&](const clang::Expr* given) {
    return given != nullptr && unit_.context.hasSameUnqualifiedType(given->getType(), type);
  };
  const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(call.callee);
  if (constructor != nullptr && constructor->isMoveConstructor() && is_same(first)) {
    const ir::PlaceId from = place(first);
    if (from == ir::kNoPlace) return emit_fresh(object, call.site);
    emit_assign(object, value(from), call.site);
    emit_assign(data(object), value(data(from)), call.site);
    return emit_assign(data(from), {.kind = Operand::Kind::Null}, call.site);
  }
  if (pointer_like && construction) {
    // unique_ptr(p), unique_ptr(): the pointer.
    Operand held = first == nullptr ? Operand{.kind = Operand::Kind::Null} : memory(first);
    if (held.kind == Operand::Kind::Unknown) held = operand(first);
    return emit_assign(data(object), held.kind == Operand::Kind::None ? unknown() : held, call.site);
  }
  if (const auto owner = unit_.symbols.owner(type); owner && owner->stream_ordered)
    emit_assign(field(object, "$stream", "", TypeKind::Stream), typed_stream(call, nullptr), call.site);
  // A copy has the elements, in a block of its own.
  if (constructor != nullptr && constructor->isCopyConstructor() && is_same(first))
    if (const ir::PlaceId from = place(first); from != ir::kNoPlace) emit_assign(object, value(from), call.site);
  if (first != nullptr)
    if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(strip(first));
        list != nullptr && list->getType()->isArrayType())
      initialize_parts(object, *list);
  const bool on_host = model.memory == MemoryKind::Pageable;
  if (on_host && !model.roles.empty()) {
    ir::Op read = start(OpKind::HostAccess, call);
    if (first != nullptr && kind(strip(first)->getType()) != TypeKind::Integer) add_roles(call, read, 0);
    std::erase_if(read.accesses, [](const ir::Access& a) { return a.memory.kind != Operand::Kind::Value; });
    if (!read.accesses.empty()) emit(std::move(read));
  }
  ir::Op op = start(OpKind::Allocate, call);
  op.target = data(object);
  op.memory = on_host ? unit_.symbols.block_memory(type) : model.memory;
  if (model.memory == MemoryKind::DeviceAsync) op.stream = typed_stream(call, nullptr);
  emit(std::move(op));
  // rmm::device_scalar(value, stream): enqueues the copy of what it is made from.
  if (model.memory == MemoryKind::DeviceAsync && first != nullptr && kind(first->getType()) != TypeKind::Integer &&
      !is_same(first)) {
    ir::Op copy = start(OpKind::Enqueue, call);
    copy.work = ir::Work::Copy;
    copy.stream = typed_stream(call, nullptr);
    if (kind(first->getType()) == TypeKind::Other) {
      copy.accesses.push_back({.memory = dying(first), .mode = ir::Mode::Read, .on_host = true});
    } else {
      add_roles(call, copy, 0);
    }
    if (!copy.accesses.empty()) {
      copy.accesses.push_back({.memory = value(data(object)), .mode = ir::Mode::Write, .on_host = false});
      emit(std::move(copy));
    }
  }
  if (!construction) construct_pointee(call, data(object), type);
}

void Body::make_shared(const Call& call) {
  const ir::PlaceId object = result_place(call);
  ir::Op op = start(OpKind::Allocate, call);
  op.target = data(object);
  op.memory = MemoryKind::Pageable;
  emit(std::move(op));
  construct_pointee(call, data(object), call.expression->getType());
}

void Body::grow_container(const Call& call) {
  const llvm::StringRef name = call.known->callee.name;
  const ir::PlaceId block = data(call.object);
  if (!call.model->roles.empty()) host_touch(call);
  const bool one_more = name == "push_back" || name == "emplace_back";
  const bool moves = name == "resize" || name == "reserve" || name == "assign" || name == "shrink_to_fit" ||
                     name == "append" || name == "insert" || name == "operator+=";
  const auto owner = unit_.symbols.owner(type_of(call.object));
  if (one_more && call.arguments.size() == 1) {
    // The element behind the last: another one each time.
    const clang::Expr* given = call.arguments.front();
    const TypeKind of = kind(given->getType());
    if (of != TypeKind::Other && of != TypeKind::Integer) {
      const ir::PlaceId size = field(call.object, "$size", "", TypeKind::Integer);
      emit_fresh(size, call.site);
      initialize(element(call.object, index_of(size), given->getType()), given);
      // The element has it now.
      const ir::PlaceId from = of == TypeKind::Object && given->isXValue() ? place(given) : ir::kNoPlace;
      if (from != ir::kNoPlace && unit_.symbols.points(given->getType()))
        emit_assign(data(from), {.kind = Operand::Kind::Null}, call.site);
      else if (from != ir::kNoPlace)
        emit_fresh(from, call.site);
    }
  }
  if (!moves) return emit_fresh(block, call.site);
  if (owner && owner->memory == MemoryKind::Pageable) {
    const std::string how = name == "resize" ? "is resized" : "may get another block by " + name.str() + "()";
    end_of_life(value(block), how.c_str(), call.site);
  } else if (owner) {
    destroy_owner(call.object, type_of(call.object), call.site, nullptr);
  }
  ir::Op op = start(OpKind::Allocate, call);
  op.target = block;
  op.memory = unit_.symbols.block_memory(type_of(call.object));
  if (owner && owner->stream_ordered) op.stream = typed_stream(call, nullptr);
  emit(std::move(op));
}

void Body::swap_places(const Call& call, ir::PlaceId left, ir::PlaceId right) {
  if (left == ir::kNoPlace || right == ir::kNoPlace) {
    emit_fresh(left, call.site);
    return emit_fresh(right, call.site);
  }
  const clang::QualType type = type_of(left);
  const ir::PlaceId held = type.isNull() ? temporary(kind(left)) : object_temporary(type);
  const auto move = [&](ir::PlaceId to, ir::PlaceId from) {
    emit_assign(to, value(from), call.site);
    if (kind(left) == TypeKind::Object && (unit_.symbols.points(type) || unit_.symbols.has_block(type)))
      emit_assign(data(to), value(data(from)), call.site);
  };
  move(held, left);
  move(left, right);
  move(right, held);
}

void Body::reset_container(const Call& call) {
  const clang::QualType type = type_of(call.object);
  const bool assigned = call.known->callee.name == "operator=";
  const clang::Expr* first = argument(call, 0);
  const auto owner = unit_.symbols.owner(type);
  if (owner && owner->tensor) {
    const ir::PlaceId from = assigned && first != nullptr ? place(first) : ir::kNoPlace;
    const auto* assignment = llvm::dyn_cast<clang::CXXMethodDecl>(call.callee);
    if (assignment != nullptr && assignment->getRefQualifier() == clang::RQ_RValue) {
      // `t[0] = x` writes into what t shares.
      ir::Op op = start(OpKind::Enqueue, call);
      op.work = ir::Work::Library;
      op.stream = value(current_stream());
      op.accesses.push_back(access(value(data(call.object)), ir::Mode::Write));
      if (from != ir::kNoPlace) op.accesses.push_back(access(value(data(from)), ir::Mode::Read));
      emit(std::move(op));
      return;
    }
    if (from != ir::kNoPlace && from == call.object) return;
    free_tensor(call.object, call.site);
    if (from == ir::kNoPlace)
      return emit_assign(data(call.object), assigned ? unknown() : Operand{.kind = Operand::Kind::Null}, call.site);
    const bool moves = assignment != nullptr && assignment->getNumParams() == 1 &&
                       assignment->getParamDecl(0)->getType()->isRValueReferenceType();
    share_tensor(call.object, from, moves, call.site);
    return set_result(call, value(call.object), call.object);
  }
  const ir::PlaceId from = first == nullptr ? ir::kNoPlace : place(first);
  if (from == call.object) return;
  destroy_owner(call.object, type, call.site, nullptr);
  if (!assigned) {
    const Operand next = first == nullptr ? Operand{.kind = Operand::Kind::Null} : memory(first);
    return emit_assign(data(call.object), next.kind == Operand::Kind::None ? unknown() : next, call.site);
  }
  if (first != nullptr && operand(first).kind == Operand::Kind::Null)
    return emit_assign(data(call.object), {.kind = Operand::Kind::Null}, call.site);
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(call.callee);
  const bool steals = method != nullptr && method->isMoveAssignmentOperator();
  if (from != ir::kNoPlace) emit_assign(call.object, value(from), call.site);
  if (steals && from != ir::kNoPlace) {
    emit_assign(data(call.object), value(data(from)), call.site);
    emit_assign(data(from), {.kind = Operand::Kind::Null}, call.site);
  } else if (unit_.symbols.points(type)) {
    // shared_ptr: both point to one thing.
    emit_assign(data(call.object), from == ir::kNoPlace ? unknown() : value(data(from)), call.site);
  } else {
    ir::Op op = start(OpKind::Allocate, call);
    op.target = data(call.object);
    op.memory = unit_.symbols.block_memory(type);
    emit(std::move(op));
  }
  set_result(call, value(call.object), call.object);
}

}  // namespace streamsan::analyzer::host
