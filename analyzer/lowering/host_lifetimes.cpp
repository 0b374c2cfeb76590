// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Construction, destruction, and the end of memory.
//
// A constructor or destructor with a body is a Call. Where a class only holds others, the compiler's own members are
// calls too: their bodies are empty and what they do to the members stands in their CFG. Owners of memory (std::vector,
// std::unique_ptr, rmm::device_uvector) are known by their class.
//
// Memory of a variable ends with its scope. That is told where it can matter, for variables whose address was taken,
// and not for those of main(): when they end the process does.
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

#include "analyzer/lowering/host_body.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::TypeKind;
using ordering::MemoryKind;

namespace {

/// Arrays of objects are made and ended one by one up to here.
constexpr std::uint64_t kMostElements = 16;

}  // namespace

void Body::construct(const clang::CXXConstructExpr& construction) {
  if (construction.isElidable() && construction.getNumArgs() == 1) return;
  if (const auto same = scan_.returned.find(&construction); same != scan_.returned.end()) {
    const ir::PlaceId object = variable(*same->second);
    results_[&construction] = {value(object), object};
    return;
  }
  const clang::QualType type = construction.getType();
  // dim3, allocators, exceptions: of no interest, unless they are a variable of this function.
  const Symbols::Known& known = unit_.symbols.known(*construction.getConstructor());
  if (known.model == nullptr && known.harmless && !scan_.destinations.contains(&construction) &&
      !unit_.symbols.points(type) && !unit_.symbols.has_block(type) && !unit_.symbols.iterates(type))
    return;
  if (unit_.symbols.iterates(type)) {
    // A copy of an iterator, or one that may only read.
    if (construction.getNumArgs() == 1)
      if (const Result* made = result(construction.getArg(0))) {
        const Result same = *made;
        results_[&construction] = same;
      }
    return;
  }
  const ir::PlaceId target = destination(construction, type);
  if (target == ir::kNoPlace) return;
  results_[&construction] = {value(target), target};
  const auto* array = llvm::dyn_cast_or_null<clang::ConstantArrayType>(type->getAsArrayTypeUnsafe());
  if (array == nullptr) return construct_at(target, construction);
  const std::uint64_t count = array->getSize().getLimitedValue();
  for (std::uint64_t i = 0; i < count && i < kMostElements; ++i)
    construct_at(element(target, number(static_cast<std::int64_t>(i)), array->getElementType()), construction);
}

void Body::construct_at(ir::PlaceId target, const clang::CXXConstructExpr& construction) {
  const clang::CXXConstructorDecl& constructor = *construction.getConstructor();
  Call call;
  call.expression = &construction;
  call.callee = &constructor;
  call.known = &unit_.symbols.known(constructor);
  call.model = call.known->model;
  call.arguments.append(construction.arg_begin(), construction.arg_end());
  call.object = target;
  call.exact = true;
  call.site = site(construction);
  const TypeKind of = kind(target);
  const bool copies = constructor.isCopyOrMoveConstructor() && !call.arguments.empty();
  const clang::QualType type = construction.getType();
  const auto owner = unit_.symbols.owner(type);

  if (copies && owner && owner->tensor) {
    const ir::PlaceId from = place(call.arguments.front());
    if (from == ir::kNoPlace) return emit_fresh(target, call.site);
    return share_tensor(target, from, constructor.isMoveConstructor(), call.site);
  }
  // A handle's wrapper is its value; one that owns the handle hands it on.
  if (copies && (of == TypeKind::Stream || of == TypeKind::Event)) {
    const Operand from = operand(call.arguments.front());
    return emit_assign(target, from, call.site);
  }
  const bool copy_model = copies && call.model != nullptr && call.model->deed != DeedKind::Container;
  if (call.model != nullptr && !copy_model) {
    function_.sites[static_cast<std::size_t>(call.site)].text = call.model->name;
    apply(call);
    // A guard that changes nothing yet still restores at its end.
    if (call.model->deed == DeedKind::Nothing)
      if (const clang::CXXDestructorDecl* destructor = constructor.getParent()->getDestructor())
        if (const Model* end = unit_.symbols.known(*destructor).model; end && end->deed == DeedKind::MakeCurrent)
          emit_assign(field(target, "$previous", "", TypeKind::Stream), value(current_stream()), call.site);
    return;
  }
  const bool has_body = unit_.census.lowered(constructor) != nullptr;
  if (has_body && !(copies && constructor.isTrivial())) return call_body(call, unit_.usr(constructor));
  if (copies) {
    const clang::Expr* given = call.arguments.front();
    const ir::PlaceId from = place(given);
    if (from == ir::kNoPlace) return emit_fresh(target, call.site);
    touch(from, ir::Mode::Read, *given);
    copy_object(target, from, type);
    if (constructor.isMoveConstructor() && (unit_.symbols.points(type) || unit_.symbols.has_block(type)))
      emit_assign(data(from), {.kind = Operand::Kind::Null}, call.site);
    return;
  }
  if (constructor.isTrivial() || call.arguments.empty()) {
    // shared_ptr(), cudaLaunchConfig_t(): empty.
    if (unit_.symbols.points(type)) emit_assign(data(target), {.kind = Operand::Kind::Null}, call.site);
    return;
  }
  const bool foreign = !constructor.hasBody() && !call.known->callee.in_system_header && !call.known->harmless;
  if (foreign) return call_body(call, unit_.usr(constructor));
  if (call.known->harmless || constructor.isImplicit()) return call_harmless(call);
  // In the translation unit, and nothing that matters in it.
  if (constructor.hasBody() && !call.known->callee.in_system_header) return emit_fresh(target, call.site);
  call_unknown(call);
}

void Body::construct_pointee(const Call& call, ir::PlaceId pointer, clang::QualType type) {
  const auto* owner = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(Symbols::record(type));
  if (owner == nullptr || owner->getTemplateArgs().size() == 0 ||
      owner->getTemplateArgs()[0].getKind() != clang::TemplateArgument::Type)
    return;
  const clang::QualType inner = owner->getTemplateArgs()[0].getAsType();
  const clang::CXXRecordDecl* record = inner->isArrayType() ? nullptr : Symbols::record(inner);
  if (record == nullptr || !record->hasDefinition()) return;
  // The one constructor that can be given so many arguments; several: which is not known.
  const clang::CXXConstructorDecl* chosen = nullptr;
  for (const clang::CXXConstructorDecl* constructor : record->ctors()) {
    if (constructor->isDeleted() || constructor->isCopyOrMoveConstructor()) continue;
    if (call.arguments.size() < constructor->getMinRequiredArguments() ||
        call.arguments.size() > constructor->getNumParams())
      continue;
    if (chosen != nullptr) return;
    chosen = constructor;
  }
  if (chosen == nullptr) return;
  const ir::PlaceId object = pointee(value(pointer), inner);
  const Symbols::Known& known = unit_.symbols.known(*chosen);
  Call made = call;
  made.callee = chosen;
  made.known = &known;
  made.model = known.model;
  made.object = object;
  if (known.model != nullptr && known.model->deed == DeedKind::Effect) {
    apply_effect(made);
  } else if (unit_.census.lowered(*chosen) != nullptr) {
    ir::Op op = start(OpKind::Call, made);
    op.callee = unit_.usr(*chosen);
    op.name = unit_.symbols.shown(*chosen);
    op.object = address(object);
    for (std::size_t i = 0; i < call.arguments.size(); ++i)
      op.arguments.push_back(argument_operand(
          call.arguments[i], chosen->getParamDecl(static_cast<unsigned>(i))->getType()->isReferenceType()));
    emit(std::move(op));
  }
}

void Body::call_destructor(const clang::CXXDestructorDecl& destructor, ir::PlaceId object, ir::SiteId site) {
  ir::Op op{.kind = OpKind::Call, .site = site};
  op.callee = unit_.usr(destructor);
  op.name = unit_.symbols.shown(destructor);
  op.object = address(object);
  emit(std::move(op));
}

void Body::destroy(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable) {
  if (object == ir::kNoPlace) return;
  type = type.getNonReferenceType();
  if (const auto* array = type->getAsArrayTypeUnsafe()) {
    const auto* counted = llvm::dyn_cast<clang::ConstantArrayType>(array);
    const std::uint64_t count = counted == nullptr ? 0 : counted->getSize().getLimitedValue();
    for (std::uint64_t i = 0; i < count && i < kMostElements; ++i)
      destroy(element(object, number(static_cast<std::int64_t>(i)), array->getElementType()), array->getElementType(),
              site);
    return;
  }
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (record == nullptr || !record->hasDefinition()) return;
  const clang::CXXDestructorDecl* destructor = record->getDestructor();
  const Model* model = destructor == nullptr ? nullptr : unit_.symbols.known(*destructor).model;
  if (unit_.symbols.owner(type)) return destroy_owner(object, type, site, variable);
  if (model != nullptr) {
    ir::Op op{.kind = OpKind::DestroyHandle, .site = site, .name = model->name};
    if (model->deed == DeedKind::MakeCurrent)
      return emit_assign(current_stream(), value(field(object, "$previous", "", TypeKind::Stream)), site);
    // Guards put back what they changed.
    if (model->deed == DeedKind::SetDevice) op.kind = OpKind::SetDevice;
    if (model->deed == DeedKind::SwapCaptureMode) op.kind = OpKind::SwapCaptureMode, op.source = address(object);
    if (op.kind != OpKind::DestroyHandle) {
      emit(std::move(op));
      return;
    }
    const api::EffectKind effect = model->effect.kind;
    if (model->deed == DeedKind::Effect &&
        (effect == api::EffectKind::StreamDestroy || effect == api::EffectKind::EventDestroy)) {
      op.source = value(object);
      emit(std::move(op));
    }
    return;
  }
  if (destructor != nullptr && unit_.census.lowered(*destructor) != nullptr)
    return call_destructor(*destructor, object, end_of(variable, site));
  if (destructor != nullptr && !destructor->isTrivial() && !destructor->hasBody() && !destructor->isDefaulted() &&
      !unit_.symbols.in_system_header(*destructor))
    call_destructor(*destructor, object, end_of(variable, site));
}

void Body::destroy_owner(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable) {
  const auto owner = unit_.symbols.owner(type);
  if (!owner) return;
  if (owner->tensor) {
    // Temporaries and members: others may hold it.
    if (variable != nullptr) free_tensor(object, site);
    return;
  }
  if (!unit_.symbols.points(type) && !unit_.symbols.has_block(type)) return;
  if (owner->memory == MemoryKind::Pageable) {
    if (unit_.symbols.points(type)) {
      const auto* instance = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(Symbols::record(type));
      if (instance != nullptr && instance->getTemplateArgs().size() > 1) {
        const clang::QualType inner = instance->getTemplateArgs()[0].getAsType();
        const clang::CXXRecordDecl* deleter = Symbols::record(instance->getTemplateArgs()[1].getAsType());
        if (deleter == nullptr || !deleter->getName().starts_with("default_delete"))
          return call_deleter(deleter, data(object), site);
        if (!inner->isArrayType()) destroy(pointee(value(data(object)), inner), inner, site);
      }
    }
    if (variable != nullptr && scan_.until_exit.contains(variable)) return;
    return end_of_life(value(data(object)), variable != nullptr ? "goes out of scope" : "ends", site);
  }
  ir::Op op{.kind = OpKind::Free, .site = site};
  op.source = value(data(object));
  op.memory = owner->memory;
  if (owner->stream_ordered) op.stream = value(field(object, "$stream", "", TypeKind::Stream));
  emit(std::move(op));
}

void Body::call_deleter(const clang::CXXRecordDecl* deleter, ir::PlaceId pointer, ir::SiteId site) {
  const clang::FunctionDecl* body = nullptr;
  if (deleter != nullptr)
    for (const clang::CXXMethodDecl* method : deleter->methods())
      if (method->getOverloadedOperator() == clang::OO_Call && method->getNumParams() == 1) body = method;
  if (body == nullptr || unit_.census.lowered(*body) == nullptr) {
    // The memory is whatever it frees.
    emit({.kind = OpKind::Escape, .site = site, .source = value(pointer)});
    return;
  }
  ir::Op op{.kind = OpKind::Call, .site = site};
  op.callee = unit_.usr(*body);
  op.name = unit_.symbols.shown(*body);
  op.object = unknown();
  op.arguments.push_back(value(pointer));
  emit(std::move(op));
}

void Body::allocate_new(const clang::CXXNewExpr& allocation) {
  if (allocation.getNumPlacementArgs() > 0) {
    const ir::PlaceId at = temporary(TypeKind::Pointer);
    emit_assign(at, memory(allocation.getPlacementArg(0)), site(allocation));
    allocated_[&allocation] = at;
    results_[&allocation] = {value(at), at};
    return;
  }
  const ir::PlaceId made = destination(allocation, allocation.getType());
  ir::Op op{.kind = OpKind::Allocate, .site = site(allocation, "new"), .target = made, .name = "new"};
  op.memory = MemoryKind::Pageable;
  emit(std::move(op));
  allocated_[&allocation] = made;
  results_[&allocation] = {value(made), made};
}

void Body::delete_object(const clang::CXXDeleteExpr& deletion) {
  const ir::SiteId at = site(deletion, "delete");
  const Operand pointer = operand(deletion.getArgument());
  const clang::QualType type = deletion.getDestroyedType();
  if (!deletion.isArrayForm() && !type.isNull() && type->isRecordType()) {
    const clang::CXXDestructorDecl* destructor = Symbols::record(type)->getDestructor();
    if (destructor != nullptr && destructor->isVirtual() && !Symbols::record(type)->isEffectivelyFinal()) {
      if (pointer.kind == Operand::Kind::Value) emit({.kind = OpKind::Escape, .site = at, .source = pointer});
      emit({.kind = OpKind::MaySync, .site = at, .name = "delete"});
      return;
    }
    destroy(pointee(pointer, type), type, at);
  }
  end_of_life(pointer, "is deleted", at);
}

ir::SiteId Body::scope_end(const clang::Stmt* trigger) {
  const clang::Stmt* where = trigger == nullptr ? definition_.getBody() : trigger;
  if (const auto* block = llvm::dyn_cast_or_null<clang::CXXTryStmt>(where)) where = block->getTryBlock();
  const auto* block = llvm::dyn_cast_or_null<clang::CompoundStmt>(where);
  const auto [entry, fresh] = sites_.try_emplace(where, ir::kNoSite);
  if (!fresh) return entry->second;
  clang::SourceLocation location = block != nullptr ? block->getRBracLoc() : where->getEndLoc();
  if (llvm::isa<clang::ReturnStmt>(where)) location = where->getBeginLoc();
  ir::Site site = unit_.sites.at(location);
  site.function = function_.name;
  const ir::SiteId id = function_.add(std::move(site));
  return sites_[where] = id;
}

ir::SiteId Body::end_of(const clang::VarDecl* variable, ir::SiteId scope_end) {
  if (variable == nullptr || variable->getName().empty()) return scope_end;
  ir::Site site = function_[scope_end];
  site.text = "'" + variable->getName().str() + "' goes out of scope";
  return function_.add(std::move(site));
}

void Body::end_of_life(const Operand& memory, const char* how, ir::SiteId site) {
  if (memory.kind != Operand::Kind::Value && memory.kind != Operand::Kind::Address) return;
  emit({.kind = OpKind::EndOfLife, .site = site, .source = memory, .detail = how, .memory = MemoryKind::Pageable});
}

Operand Body::dying(const clang::Expr* value) {
  if (const ir::PlaceId lasting = place(value); lasting != ir::kNoPlace) return address_of(lasting);
  dying_.push_back(temporary(kind(value->getType())));
  return address(dying_.back());
}

void Body::end_dying(const Call& call) {
  for (const ir::PlaceId temporary : dying_)
    end_of_life(address(temporary), "dies at the end of the statement", call.site);
  dying_.clear();
}

void Body::end_of_scope(const clang::VarDecl& variable, const clang::Stmt* trigger) {
  const clang::QualType type = variable.getType();
  if (type->isReferenceType() || !unit_.census.address_taken(variable) || scan_.until_exit.contains(&variable) ||
      &variable == returned_variable_ || llvm::isa<clang::ParmVarDecl>(variable) || !variable.hasLocalStorage())
    return;
  const TypeKind of = kind(type);
  if (of == TypeKind::Stream || of == TypeKind::Event || of == TypeKind::Graph || of == TypeKind::Pointer) return;
  // A container's own bytes are not what is copied.
  if (unit_.symbols.owner(type) && (unit_.symbols.has_block(type) || unit_.symbols.points(type))) return;
  if (const auto owner = unit_.symbols.owner(type); owner && owner->tensor) return;
  const auto known = variables_.find(&variable);
  if (known != variables_.end()) end_of_life(address(known->second), "goes out of scope", scope_end(trigger));
}

}  // namespace streamsan::analyzer::host
