// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Containers and smart pointers.
//
// A container is its elements and a block, `$data`. Growing ends the block and makes another. push_back() mostly
// leaves the block where it is: afterwards nothing is known of it, which hides what a copy in flight may lose. Of
// pinned memory, which copies really go on reading, it stays the same block, and is written (host_refills.h).
// A moved container takes its block along. A smart pointer's block is what it points to.
#include "analyzer/lowering/host_containers.h"

#include <algorithm>

#include "analyzer/ir/hidden.h"
#include "analyzer/lowering/host_arguments.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_ends.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_lifetimes.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_refills.h"
#include "analyzer/lowering/host_sequences.h"
#include "analyzer/lowering/host_tensors.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "analyzer/lowering/type_parts.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;
using ordering::MemoryKind;

namespace {

/// A buffer of no bytes: RMM asks its resource for nothing, and gives nothing back.
bool makes_nothing(const Call& call, const clang::ASTContext& context) {
  const std::string& name = call.known->callee.name;
  return (name == "device_uvector" || name == "device_buffer") && constant(call.argument(0), context) == 0;
}

}  // namespace

Containers::Containers(const Parts& parts)
    : unit_(parts.unit),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments),
      ends_(parts.ends),
      lifetimes_(parts.lifetimes),
      arguments_(parts.arguments),
      tensors_(parts.tensors),
      sequences_(parts.sequences) {}

void Containers::apply(const Call& call) {
  const Model& model = *call.model;
  if (model.member == Member::Make) return make(call);
  if (model.member == Member::At && call.object_expression != nullptr &&
      out_.kind(call.object_expression->getType()) == TypeKind::Pointer)
    return index_accessor(call);
  if (call.object == ir::kNoPlace) {
    if (!call.callee->getReturnType()->isVoidType() && out_.kind(call.callee->getReturnType()) == TypeKind::Pointer)
      out_.emit_fresh(values_.result_place(*call.expression), call.site);
    return;
  }
  const clang::QualType type = out_.type_of(call.object);
  const clang::QualType returned = call.callee->getReturnType();
  switch (model.member) {
    case Member::None:
    case Member::Make:
      return;
    case Member::Data:
      return get_data(call);
    case Member::At:
      return get_element(call);
    case Member::Grow:
      return grow(call);
    case Member::Swap: {
      const clang::Expr* other = call.argument(0);
      return assignments_.swap(call.object, other == nullptr ? ir::kNoPlace : places_.place(other), call.site);
    }
    case Member::Release:
      if (out_.kind(returned) == TypeKind::Pointer) {
        const ir::PlaceId out = values_.result_place(*call.expression);
        out_.emit_assign(out, value(places_.data(call.object)), call.site);
      }
      return out_.emit_assign(places_.data(call.object), {.kind = Operand::Kind::Null}, call.site);
    case Member::Reset:
      return reset(call);
    case Member::End:
      return lifetimes_.destroy_owner(call.object, type, call.site, nullptr);
  }
}

void Containers::get_data(const Call& call) {
  const clang::QualType type = out_.type_of(call.object);
  const clang::QualType returned = call.callee->getReturnType();
  const bool pointer_like = unit_.symbols.points(type);
  if (pointer_like && returned->isReferenceType()) {
    const ir::PlaceId object = places_.pointee(value(places_.data(call.object)), returned.getNonReferenceType());
    return values_.set_result(*call.expression, value(object), object);
  }
  const bool tensor = unit_.symbols.is_tensor(type);
  const bool inside = !pointer_like && !unit_.symbols.has_block(type) && !tensor;
  // The elements of a vector of handles are known by the vector.
  const clang::QualType pointed = returned->isPointerType() ? returned->getPointeeType() : clang::QualType();
  const TypeKind of = out_.kind(pointed);
  const bool handles = !pointed.isNull() && !pointer_like && of != TypeKind::Other && of != TypeKind::Integer &&
                       !tensor && !pointed->isVoidType() && !plain(unit_.symbols, pointed);
  if (inside || handles) return values_.set_result(*call.expression, address(call.object));
  Operand block = value(places_.data(call.object));
  if (call.known->callee.name == "element_ptr" && !call.arguments.empty())
    block = numbers_.moved(block, numbers_.steps(values_.expr(call.arguments.front()), returned));
  if (call.known->callee.name == "end" || call.known->callee.name == "cend") {
    ir::Expr size{.text = out_.spell(call.object) + ".size()", .uses = {}, .constant = {}};
    block = numbers_.moved(block, out_.add(std::move(size)));
  }
  // A tensor's storage is known by the block: storage().data_ptr().
  const bool same = returned->isReferenceType() && block.kind == Operand::Kind::Value;
  return values_.set_result(*call.expression, block, same ? block.place : ir::kNoPlace);
}

void Containers::get_element(const Call& call) {
  const clang::QualType type = out_.type_of(call.object);
  const clang::QualType returned = call.callee->getReturnType();
  ir::ExprId index = call.arguments.empty() ? ir::kNoExpr : values_.expr(call.arguments.front());
  if (index == ir::kNoExpr) {
    const std::string& name = call.known->callee.name;
    index = name == "back" || name == "top" ? places_.last_index(call.object) : numbers_.number(0);
  }
  const clang::QualType inner = returned.getNonReferenceType();
  const bool elsewhere = unit_.symbols.points(type) || (unit_.symbols.views(type) && !unit_.symbols.has_block(type));
  const ir::PlaceId at = elsewhere ? places_.subscript(value(places_.data(call.object)), index, inner)
                                   : places_.element(call.object, index, inner);
  return values_.set_result(*call.expression, value(at), at);
}

void Containers::index_accessor(const Call& call) {
  const Operand block = values_.operand(call.object_expression);
  const clang::QualType returned = call.callee->getReturnType();
  const ir::ExprId index = call.arguments.empty() ? ir::kNoExpr : values_.expr(call.arguments.front());
  // How long a row is, is not known: the step has no unit.
  if (!returned->isReferenceType()) return values_.set_result(*call.expression, numbers_.moved(block, index));
  const ir::PlaceId at = places_.subscript(block, index, returned.getNonReferenceType());
  values_.set_result(*call.expression, at == ir::kNoPlace ? unknown() : value(at), at);
}

void Containers::make(const Call& call) {
  const Model& model = *call.model;
  const bool construction = llvm::isa<clang::CXXConstructExpr>(call.expression);
  const ir::PlaceId object = construction ? call.object : values_.result_place(*call.expression);
  if (object == ir::kNoPlace) return;
  if (out_.type_of(object).isNull()) out_.typed(object, call.expression->getType());
  const clang::QualType type = call.expression->getType();
  const clang::Expr* first = call.argument(0);
  const bool pointer_like = unit_.symbols.points(type);
  const auto is_same = [&](const clang::Expr* given) {
    return given != nullptr && unit_.context.hasSameUnqualifiedType(given->getType(), type);
  };
  const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(call.callee);
  if (constructor != nullptr && constructor->isMoveConstructor() && is_same(first)) {
    const ir::PlaceId from = places_.place(first);
    if (from == ir::kNoPlace) return out_.emit_fresh(object, call.site);
    out_.emit_assign(object, value(from), call.site);
    out_.emit_assign(places_.data(object), value(places_.data(from)), call.site);
    sequences_.leave_empty(from, call.site);
    return out_.emit_assign(places_.data(from), {.kind = Operand::Kind::Null}, call.site);
  }
  if (pointer_like && construction) {
    // shared_ptr(p, deleter): with what a lambda has captured.
    if (call.arguments.size() == 2 && call.arguments[1]->getType()->isRecordType())
      if (const ir::PlaceId from = places_.place(call.arguments[1]); from != ir::kNoPlace)
        assignments_.copy_object(object, from, call.arguments[1]->getType());
    // shared_ptr(owner, p): what p points to is part of what the owner keeps.
    if (call.arguments.size() == 2 && unit_.symbols.points(first->getType())) first = call.arguments[1];
    // unique_ptr(p), unique_ptr(): the pointer.
    Operand held = first == nullptr ? Operand{.kind = Operand::Kind::Null} : values_.memory(first);
    if (held.kind == Operand::Kind::Unknown) held = values_.operand(first);
    out_.emit_assign(places_.data(object), held.kind == Operand::Kind::None ? unknown() : held, call.site);
    // shared_ptr(unique_ptr), and a move to a pointer to a base class.
    if (first != nullptr && !first->isLValue() && unit_.symbols.points(first->getType()))
      if (const ir::PlaceId from = places_.place(first); from != ir::kNoPlace)
        out_.emit_assign(places_.data(from), {.kind = Operand::Kind::Null}, call.site);
    return;
  }
  if (const auto owner = unit_.symbols.owner(type); owner && owner->stream_ordered)
    out_.emit_assign(places_.stream_of(object), arguments_.typed_stream(call, nullptr), call.site);
  if (construction && makes_nothing(call, unit_.context))
    return out_.emit_assign(places_.data(object), {.kind = Operand::Kind::Null}, call.site);
  // A copy has the elements, in a block of its own.
  if (constructor != nullptr && constructor->isCopyConstructor() && is_same(first))
    if (const ir::PlaceId from = places_.place(first); from != ir::kNoPlace)
      out_.emit_assign(object, value(from), call.site);
  if (first != nullptr)
    if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(strip(first));
        list != nullptr && list->getType()->isArrayType())
      assignments_.initialize_parts(object, *list);
  if (construction && (constructor == nullptr || !constructor->isCopyConstructor() || !is_same(first)))
    sequences_.make(call, object);
  const bool on_host = model.memory == MemoryKind::Pageable;
  if (on_host && !model.roles.empty()) {
    ir::Op read = start(OpKind::HostAccess, call);
    if (first != nullptr && out_.kind(strip(first)->getType()) != TypeKind::Integer)
      arguments_.add_roles(call, read, 0);
    std::erase_if(read.accesses, [&](const ir::Access& a) {
      if (!ir::is_value_of(out_, a.memory, ir::Hidden::Data)) return a.memory.kind != Operand::Kind::Value;
      const auto source = unit_.symbols.owner(out_.type_of(out_[a.memory.place].base));
      return source && source->memory == MemoryKind::Device;
    });
    if (!read.accesses.empty()) out_.emit(std::move(read));
  }
  ir::Op op = start(OpKind::Allocate, call);
  op.target = places_.data(object);
  op.memory = on_host ? unit_.symbols.block_memory(type) : model.memory;
  if (model.memory == MemoryKind::DeviceAsync) op.stream = arguments_.typed_stream(call, nullptr);
  out_.emit(std::move(op));
  if (model.memory == MemoryKind::DeviceAsync && first != nullptr && out_.kind(first->getType()) != TypeKind::Integer &&
      !is_same(first))
    enqueue_first_copy(call, object);
  copy_across(call, object, type);
  if (!construction) lifetimes_.construct_pointee(call, places_.data(object), type);
}

/// Between a vector of the host and one of the device: Thrust copies in the default stream, and the host waits.
void Containers::copy_across(const Call& call, ir::PlaceId object, clang::QualType type) {
  const clang::Expr* first = call.argument(0);
  if (first == nullptr || unit_.symbols.points(type)) return;
  ir::PlaceId from = ir::kNoPlace;
  if (unit_.symbols.owner(first->getType())) {
    from = places_.place(first);
  } else {
    // A range of iterators.
    const Operand begin = values_.memory(first);
    if (ir::is_value_of(out_, begin, ir::Hidden::Data)) from = out_[begin.place].base;
  }
  const auto source = from == ir::kNoPlace ? std::nullopt : unit_.symbols.owner(out_.type_of(from));
  const auto target = unit_.symbols.owner(type);
  const auto is = [](const auto& owner, MemoryKind kind) { return owner && !owner->tensor && owner->memory == kind; };
  const bool to_host = is(source, MemoryKind::Device) && is(target, MemoryKind::Pageable);
  if (!to_host && !(is(source, MemoryKind::Pageable) && is(target, MemoryKind::Device))) return;
  ir::Op copy = start(OpKind::Enqueue, call);
  copy.work = ir::Work::Copy;
  copy.stream = {.kind = Operand::Kind::DefaultStream};
  copy.accesses.push_back({.memory = value(places_.data(from)), .mode = ir::Mode::Read, .on_host = !to_host});
  copy.accesses.push_back({.memory = value(places_.data(object)), .mode = ir::Mode::Write, .on_host = to_host});
  out_.emit(std::move(copy));
  ir::Op wait = start(OpKind::SyncStream, call);
  wait.work = ir::Work::Library;
  wait.stream = {.kind = Operand::Kind::DefaultStream};
  out_.emit(std::move(wait));
}

void Containers::enqueue_first_copy(const Call& call, ir::PlaceId object) {
  const clang::Expr* first = call.argument(0);
  ir::Op copy = start(OpKind::Enqueue, call);
  copy.work = ir::Work::Copy;
  copy.stream = arguments_.typed_stream(call, nullptr);
  if (out_.kind(first->getType()) == TypeKind::Other) {
    copy.accesses.push_back({.memory = ends_.dying(first), .mode = ir::Mode::Read, .on_host = true});
  } else {
    arguments_.add_roles(call, copy, 0);
  }
  if (copy.accesses.empty()) return;
  copy.accesses.push_back({.memory = value(places_.data(object)), .mode = ir::Mode::Write, .on_host = false});
  out_.emit(std::move(copy));
}

void Containers::make_shared(const Call& call) {
  const ir::PlaceId object = values_.result_place(*call.expression);
  ir::Op op = start(OpKind::Allocate, call);
  op.target = places_.data(object);
  op.memory = MemoryKind::Pageable;
  out_.emit(std::move(op));
  lifetimes_.construct_pointee(call, places_.data(object), call.expression->getType());
}

bool Containers::pinned(ir::PlaceId container) const {
  return container != ir::kNoPlace && unit_.symbols.has_block(out_.type_of(container)) &&
         unit_.symbols.block_memory(out_.type_of(container)) == MemoryKind::Pinned;
}

void Containers::write_block(const Call& call, const Operand& where, const char* detail) {
  ir::Op write = start(OpKind::HostAccess, call);
  write.accesses.push_back(values_.access(where, ir::Mode::Write));
  write.detail = detail;
  out_.emit(std::move(write));
}

void Containers::change_size(const Call& call) {
  if (call.known->callee.name == "clear" && pinned(call.object))
    write_block(call, value(places_.data(call.object)), kRefill);
  if (call.object_expression != nullptr && call.object != ir::kNoPlace) sequences_.change(call);
}

void Containers::grow(const Call& call) {
  const llvm::StringRef name = call.known->callee.name;
  const ir::PlaceId block = places_.data(call.object);
  if (!call.model->roles.empty()) arguments_.host_touch(call);
  const bool one_more = sequences_.put(call);
  const bool moves = name == "resize" || name == "reserve" || name == "assign" || name == "shrink_to_fit" ||
                     name == "append" || name == "insert" || name == "operator+=";
  const auto owner = unit_.symbols.owner(out_.type_of(call.object));
  // With pinned memory it matters which part is written: a copy of what is in front may go on.
  if (one_more && pinned(call.object))
    return write_block(call, numbers_.moved(value(block), numbers_.unknown_number()), "");
  if (!moves) return out_.emit_fresh(block, call.site);
  if (name == "assign" && pinned(call.object)) write_block(call, value(block), "");
  if (owner && owner->memory == MemoryKind::Pageable) {
    const std::string how = name == "resize" ? "is resized" : "may get another block by " + name.str() + "()";
    ends_.end_of_life(value(block), how.c_str(), call.site);
  } else if (owner) {
    lifetimes_.destroy_owner(call.object, out_.type_of(call.object), call.site, nullptr);
  }
  ir::Op op = start(OpKind::Allocate, call);
  op.target = block;
  op.memory = unit_.symbols.block_memory(out_.type_of(call.object));
  if (owner && owner->stream_ordered) op.stream = arguments_.typed_stream(call, nullptr);
  out_.emit(std::move(op));
}

void Containers::reset(const Call& call) {
  const clang::QualType type = out_.type_of(call.object);
  const bool assigned = call.known->callee.name == "operator=";
  const clang::Expr* first = call.argument(0);
  if (unit_.symbols.is_tensor(type)) {
    const ir::PlaceId from = assigned && first != nullptr ? places_.place(first) : ir::kNoPlace;
    const auto* assignment = llvm::dyn_cast<clang::CXXMethodDecl>(call.callee);
    if (assignment != nullptr && assignment->getRefQualifier() == clang::RQ_RValue) {
      // `t[0] = x` writes into what t shares.
      ir::Op op = start(OpKind::Enqueue, call);
      op.work = ir::Work::Library;
      op.stream = value(places_.current_stream());
      op.accesses.push_back(values_.access(value(places_.data(call.object)), ir::Mode::Write));
      if (from != ir::kNoPlace) op.accesses.push_back(values_.access(value(places_.data(from)), ir::Mode::Read));
      out_.emit(std::move(op));
      return;
    }
    if (from != ir::kNoPlace && from == call.object) return;
    if (tensors_.becomes_view_of_itself(call.object, from, call.site))
      return values_.set_result(*call.expression, value(call.object), call.object);
    tensors_.keep_lent(from, call.site);
    tensors_.free_tensor(call.object, call.site);
    tensors_.may_change(call.object, call.site);
    if (from == ir::kNoPlace)
      return out_.emit_assign(places_.data(call.object), assigned ? unknown() : Operand{.kind = Operand::Kind::Null},
                              call.site);
    const bool moves = assignment != nullptr && assignment->getNumParams() == 1 &&
                       assignment->getParamDecl(0)->getType()->isRValueReferenceType();
    tensors_.share_tensor(call.object, from, moves, call.site);
    return values_.set_result(*call.expression, value(call.object), call.object);
  }
  const ir::PlaceId from = first == nullptr ? ir::kNoPlace : places_.place(first);
  if (from == call.object) return;
  const auto* named = call.object_expression == nullptr ? nullptr : strip(call.object_expression);
  const clang::ValueDecl* variable = nullptr;
  if (const auto* name = llvm::dyn_cast_or_null<clang::DeclRefExpr>(named)) variable = name->getDecl();
  if (const auto* member = llvm::dyn_cast_or_null<clang::MemberExpr>(named)) variable = member->getMemberDecl();
  if (!lifetimes_.destroy_shared(variable, call.object, call.site))
    lifetimes_.destroy_owner(call.object, type, call.site, nullptr);
  if (!assigned) {
    const Operand next = first == nullptr ? Operand{.kind = Operand::Kind::Null} : values_.memory(first);
    return out_.emit_assign(places_.data(call.object), next.kind == Operand::Kind::None ? unknown() : next, call.site);
  }
  if (first != nullptr && values_.operand(first).kind == Operand::Kind::Null)
    return out_.emit_assign(places_.data(call.object), {.kind = Operand::Kind::Null}, call.site);
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(call.callee);
  const bool steals = method != nullptr && method->isMoveAssignmentOperator();
  tensors_.put_into(call.object, ir::kNoPlace, call.site);
  if (from != ir::kNoPlace)
    out_.emit_assign(call.object, value(from), call.site);
  else
    sequences_.forget(call.object, call.site);
  if (steals && from != ir::kNoPlace) {
    out_.emit_assign(places_.data(call.object), value(places_.data(from)), call.site);
    sequences_.leave_empty(from, call.site);
    out_.emit_assign(places_.data(from), {.kind = Operand::Kind::Null}, call.site);
  } else if (unit_.symbols.points(type)) {
    // shared_ptr: both point to one thing.
    out_.emit_assign(places_.data(call.object), from == ir::kNoPlace ? unknown() : value(places_.data(from)),
                     call.site);
  } else {
    ir::Op op = start(OpKind::Allocate, call);
    op.target = places_.data(call.object);
    op.memory = unit_.symbols.block_memory(type);
    out_.emit(std::move(op));
    copy_across(call, call.object, type);
  }
  values_.set_result(*call.expression, value(call.object), call.object);
}

}  // namespace streamsan::analyzer::host
