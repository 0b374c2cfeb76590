// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Construction and destruction.
//
// A constructor or destructor with a body is a Call. Where a class only holds others, the compiler's own members are
// calls too: their bodies are empty and what they do to the members stands in their CFG. Owners of memory (std::vector,
// std::unique_ptr, rmm::device_uvector) are known by their class.
#include "analyzer/lowering/host_lifetimes.h"

#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_callables.h"
#include "analyzer/lowering/host_calls.h"
#include "analyzer/lowering/host_effects.h"
#include "analyzer/lowering/host_ends.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_models.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_optionals.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_tensors.h"
#include "analyzer/lowering/host_touches.h"
#include "analyzer/lowering/host_tuples.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;
using ordering::MemoryKind;

namespace {

/// Arrays of objects are made and ended one by one up to here.
constexpr std::uint64_t kMostElements = 16;

/// An object whose class says what it is as a `wanted`: `operator cudaStream_t() const { return s_; }` makes `s`
/// `s.s_`. A library that passes its arguments on converts them out of sight. Otherwise the argument as it is.
const clang::Expr* converted(const clang::Expr& given, clang::QualType wanted, const clang::ASTContext& context) {
  const auto* record = llvm::dyn_cast_or_null<clang::CXXRecordDecl>(Symbols::record(given.getType()));
  if (record == nullptr || !record->hasDefinition() || !given.isGLValue() || wanted->isReferenceType()) return &given;
  for (const clang::NamedDecl* named : record->getDefinition()->getVisibleConversionFunctions()) {
    const auto* conversion = llvm::dyn_cast<clang::CXXConversionDecl>(named->getUnderlyingDecl());
    if (conversion == nullptr || !context.hasSameUnqualifiedType(conversion->getConversionType(), wanted)) continue;
    const auto* body = llvm::dyn_cast_or_null<clang::CompoundStmt>(conversion->getBody());
    if (body == nullptr || body->size() != 1) continue;
    const auto* result = llvm::dyn_cast<clang::ReturnStmt>(body->body_front());
    if (result == nullptr || result->getRetValue() == nullptr) continue;
    const auto* member = llvm::dyn_cast<clang::MemberExpr>(strip(result->getRetValue()));
    const auto* field = member == nullptr ? nullptr : llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (field == nullptr || !llvm::isa<clang::CXXThisExpr>(strip(member->getBase())) ||
        field->getParent()->getCanonicalDecl() != record->getCanonicalDecl())
      continue;
    return clang::MemberExpr::CreateImplicit(context, const_cast<clang::Expr*>(&given), false,
                                             const_cast<clang::FieldDecl*>(field), field->getType(), clang::VK_LValue,
                                             clang::OK_Ordinary);
  }
  return &given;
}

/// What the allocator of a container gives memory back with: nullptr if it names none.
const clang::FunctionDecl* deallocator(clang::QualType type) {
  const auto* instance = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(Symbols::record(type));
  if (instance == nullptr) return nullptr;
  for (const clang::TemplateArgument& argument : instance->getTemplateArgs().asArray().drop_front()) {
    if (argument.getKind() != clang::TemplateArgument::Type) continue;
    const clang::CXXRecordDecl* allocator = Symbols::record(argument.getAsType());
    if (allocator == nullptr) continue;
    for (const clang::CXXMethodDecl* method : allocator->methods())
      if (method->getIdentifier() != nullptr && method->getName() == "deallocate") return method;
  }
  return nullptr;
}

}  // namespace

Lifetimes::Lifetimes(const Parts& parts)
    : unit_(parts.unit),
      scan_(parts.scan),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments),
      touches_(parts.touches),
      ends_(parts.ends),
      callbacks_(parts.callbacks),
      calls_(parts.calls),
      modelled_(parts.modelled),
      effects_(parts.effects),
      tensors_(parts.tensors),
      tuples_(parts.tuples),
      optionals_(parts.optionals) {}

void Lifetimes::construct(const clang::CXXConstructExpr& construction) {
  if (construction.isElidable() && construction.getNumArgs() == 1) return;
  if (const auto same = scan_.returned.find(&construction); same != scan_.returned.end()) {
    const ir::PlaceId object = places_.variable(*same->second);
    values_.set_result(construction, value(object), object);
    return;
  }
  const clang::QualType type = construction.getType();
  if (construct_elements(construction)) return;
  // dim3, allocators, exceptions: of no interest, unless they are a variable of this function.
  const Symbols::Known& known = unit_.symbols.known(*construction.getConstructor());
  if (known.model == nullptr && known.harmless && !scan_.destinations.contains(&construction) &&
      !unit_.symbols.points(type) && !unit_.symbols.has_block(type) && !unit_.symbols.iterates(type) &&
      !unit_.symbols.is_tuple(type) && optionals_.held_type(type).isNull())
    return;
  if (unit_.symbols.iterates(type)) {
    // A copy of an iterator, or one that may only read.
    if (construction.getNumArgs() == 1)
      if (const Values::Result* made = values_.result(construction.getArg(0)))
        values_.set_result(construction, made->value, made->place);
    return;
  }
  const ir::PlaceId target = places_.destination(construction, type);
  if (target == ir::kNoPlace) return;
  values_.set_result(construction, value(target), target);
  const auto* array = llvm::dyn_cast_or_null<clang::ConstantArrayType>(type->getAsArrayTypeUnsafe());
  if (array == nullptr) return construct_at(target, construction, construction);
  const std::uint64_t count = array->getSize().getLimitedValue();
  for (std::uint64_t i = 0; i < count && i < kMostElements; ++i)
    construct_at(places_.element(target, numbers_.number(static_cast<std::int64_t>(i)), array->getElementType()),
                 construction, construction);
}

/// A std::array, which has no constructor of its own to look into.
bool Lifetimes::construct_elements(const clang::CXXConstructExpr& construction) {
  const clang::QualType type = construction.getType();
  const clang::ClassTemplateSpecializationDecl* array = std_array(type);
  if (array == nullptr || !elements_stay(*array)) return false;
  const clang::CXXConstructExpr* each = construction_of_elements(*construction.getConstructor());
  const ir::PlaceId target = each == nullptr ? ir::kNoPlace : places_.destination(construction, type);
  if (target == ir::kNoPlace) return false;
  values_.set_result(construction, value(target), target);
  const clang::QualType element(each->getType()->getArrayElementTypeNoTypeQual(), 0);
  const std::uint64_t count = fixed_size(type).value_or(0);
  for (std::uint64_t i = 0; i < count && i < kMostElements; ++i)
    construct_at(places_.element(target, numbers_.number(static_cast<std::int64_t>(i)), element), *each, construction);
  return true;
}

void Lifetimes::construct_at(ir::PlaceId target, const clang::CXXConstructExpr& construction,
                             const clang::CXXConstructExpr& seen) {
  const clang::CXXConstructorDecl& constructor = *construction.getConstructor();
  Call call;
  call.expression = &construction;
  call.callee = &constructor;
  call.known = &unit_.symbols.known(constructor);
  call.model = call.known->model;
  call.arguments.append(construction.arg_begin(), construction.arg_end());
  call.object = target;
  call.exact = true;
  call.dropped = scan_.dropped.contains(&construction);
  call.site = out_.site(seen);
  const TypeKind of = out_.kind(target);
  const bool copies = constructor.isCopyOrMoveConstructor() && !call.arguments.empty();
  const clang::QualType type = construction.getType();

  if (copies && unit_.symbols.is_tensor(type)) {
    const ir::PlaceId from = places_.place(call.arguments.front());
    if (from == ir::kNoPlace) return out_.emit_fresh(target, call.site);
    return tensors_.share_tensor(target, from, constructor.isMoveConstructor(), call.site);
  }
  // A handle's wrapper is its value; one that owns the handle hands it on. So is an accessor, which is a pointer.
  if (copies && (of == TypeKind::Stream || of == TypeKind::Event || of == TypeKind::Pointer)) {
    const Operand from = values_.operand(call.arguments.front());
    out_.emit_assign(target, from, call.site);
    const clang::CXXDestructorDecl* end = constructor.getParent()->getDestructor();
    const bool owns = end != nullptr && unit_.symbols.known(*end).model != nullptr;
    if (owns && constructor.isMoveConstructor())
      if (const ir::PlaceId source = places_.place(call.arguments.front()); source != ir::kNoPlace)
        out_.emit_assign(source, {.kind = Operand::Kind::Null}, call.site);
    return;
  }
  if (tuples_.construct(call) || optionals_.construct(call) || callbacks_.construct(call)) return;
  tensors_.keep_given(call);
  const bool copy_model = copies && call.model != nullptr && call.model->action != ActionKind::Container;
  if (call.model != nullptr && !copy_model) {
    out_.site_of(call.site).text = call.model->name;
    modelled_.apply(call);
    // A guard that changes nothing yet still restores at its end.
    if (call.model->action == ActionKind::Nothing)
      if (const clang::CXXDestructorDecl* destructor = constructor.getParent()->getDestructor())
        if (const Model* end = unit_.symbols.known(*destructor).model; end && end->action == ActionKind::MakeCurrent)
          out_.emit_assign(places_.stream_before(target), value(places_.current_stream()), call.site);
    return;
  }
  const bool has_body = unit_.census.lowered(constructor) != nullptr;
  if (has_body && !(copies && constructor.isTrivial())) return calls_.call_body(call, unit_.usr(constructor));
  if (copies) {
    const clang::Expr* given = call.arguments.front();
    const ir::PlaceId from = places_.place(given);
    if (from == ir::kNoPlace) return out_.emit_fresh(target, call.site);
    touches_.touch(from, ir::Mode::Read, *given);
    assignments_.copy_object(target, from, type);
    if (constructor.isMoveConstructor() && (unit_.symbols.points(type) || unit_.symbols.has_block(type)))
      out_.emit_assign(places_.data(from), {.kind = Operand::Kind::Null}, call.site);
    return;
  }
  if (constructor.isTrivial() || call.arguments.empty()) {
    // shared_ptr(), cudaLaunchConfig_t(): empty.
    if (unit_.symbols.points(type)) out_.emit_assign(places_.data(target), {.kind = Operand::Kind::Null}, call.site);
    return;
  }
  const bool foreign = !constructor.hasBody() && !call.known->callee.in_system_header && !call.known->harmless;
  if (foreign) return calls_.call_body(call, unit_.usr(constructor));
  if (call.known->harmless || constructor.isImplicit()) return calls_.call_harmless(call);
  // In the translation unit, and nothing that matters in it.
  if (constructor.hasBody() && !call.known->callee.in_system_header) return out_.emit_fresh(target, call.site);
  calls_.call_unknown(call);
}

void Lifetimes::construct_pointee(const Call& call, ir::PlaceId pointer, clang::QualType type) {
  const auto* owner = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(Symbols::record(type));
  if (owner == nullptr || owner->getTemplateArgs().size() == 0 ||
      owner->getTemplateArgs()[0].getKind() != clang::TemplateArgument::Type)
    return;
  const clang::QualType inner = owner->getTemplateArgs()[0].getAsType();
  if (!inner->isArrayType() && Symbols::record(inner) != nullptr)
    construct_in_place(call, places_.pointee(value(pointer), inner), inner);
}

void Lifetimes::construct_in_place(const Call& call, ir::PlaceId object, clang::QualType type) {
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (object == ir::kNoPlace || record == nullptr || !record->hasDefinition()) return;
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
  const Symbols::Known& known = unit_.symbols.known(*chosen);
  Call made = call;
  made.callee = chosen;
  made.known = &known;
  made.model = known.model;
  made.object = object;
  if (known.model != nullptr && known.model->action == ActionKind::Effect) {
    effects_.apply(made);
  } else if (unit_.census.lowered(*chosen) != nullptr) {
    ir::Op op = start(OpKind::Call, made);
    op.callee = unit_.usr(*chosen);
    op.name = unit_.symbols.shown(*chosen);
    op.object = address(object);
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const clang::QualType parameter = chosen->getParamDecl(static_cast<unsigned>(i))->getType();
      op.arguments.push_back(values_.argument_operand(converted(*call.arguments[i], parameter, unit_.context),
                                                      parameter->isReferenceType()));
    }
    out_.emit(std::move(op));
  }
}

void Lifetimes::call_destructor(const clang::CXXDestructorDecl& destructor, ir::PlaceId object, ir::SiteId site) {
  ir::Op op{.kind = OpKind::Call, .site = site};
  op.callee = unit_.usr(destructor);
  op.name = unit_.symbols.shown(destructor);
  op.object = address(object);
  out_.emit(std::move(op));
}

/// A class whose destructor is code of this translation unit.
bool Lifetimes::is_of_unit(clang::QualType type) const {
  const clang::CXXRecordDecl* record = Symbols::record(type);
  const clang::CXXDestructorDecl* end =
      record == nullptr || !record->hasDefinition() ? nullptr : record->getDestructor();
  return end != nullptr && unit_.census.lowered(*end) != nullptr && !unit_.symbols.owner(type);
}

void Lifetimes::destroy(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable) {
  if (object == ir::kNoPlace) return;
  if (destroy_shared(variable, object, site)) return;
  type = type.getNonReferenceType();
  if (const auto* array = type->getAsArrayTypeUnsafe()) {
    const auto* counted = llvm::dyn_cast<clang::ConstantArrayType>(array);
    const std::uint64_t count = counted == nullptr ? 0 : counted->getSize().getLimitedValue();
    for (std::uint64_t i = 0; i < count && i < kMostElements; ++i)
      destroy(places_.element(object, numbers_.number(static_cast<std::int64_t>(i)), array->getElementType()),
              array->getElementType(), site);
    return;
  }
  if (const clang::ClassTemplateSpecializationDecl* array = std_array(type)) {
    const clang::TemplateArgument& of = array->getTemplateArgs()[0];
    const bool known = of.getKind() == clang::TemplateArgument::Type && elements_stay(*array);
    const std::uint64_t count = known && is_of_unit(of.getAsType()) ? fixed_size(type).value_or(0) : 0;
    for (std::uint64_t i = 0; i < count && i < kMostElements; ++i)
      destroy(places_.element(object, numbers_.number(static_cast<std::int64_t>(i)), of.getAsType()), of.getAsType(),
              site);
    return;
  }
  if (tuples_.destroy(object, type, site, variable) || optionals_.destroy(object, type, site, variable)) return;
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (record == nullptr || !record->hasDefinition()) return;
  const clang::CXXDestructorDecl* destructor = record->getDestructor();
  const Model* model = destructor == nullptr ? nullptr : unit_.symbols.known(*destructor).model;
  if (unit_.symbols.owner(type)) return destroy_owner(object, type, site, variable);
  if (model != nullptr) {
    ir::Op op{.kind = OpKind::DestroyHandle, .site = site, .name = model->name};
    if (model->action == ActionKind::MakeCurrent)
      return out_.emit_assign(places_.current_stream(), value(places_.stream_before(object)), site);
    // Guards put back what they changed.
    if (model->action == ActionKind::SetDevice) op.kind = OpKind::SetDevice;
    if (model->action == ActionKind::SwapCaptureMode) op.kind = OpKind::SwapCaptureMode, op.source = address(object);
    if (op.kind != OpKind::DestroyHandle) {
      out_.emit(std::move(op));
      return;
    }
    const api::EffectKind effect = model->effect.kind;
    if (model->action == ActionKind::Effect &&
        (effect == api::EffectKind::StreamDestroy || effect == api::EffectKind::EventDestroy)) {
      op.source = value(object);
      op.of_object = true;
      out_.emit(std::move(op));
    }
    return;
  }
  if (destructor != nullptr && unit_.census.lowered(*destructor) != nullptr)
    return call_destructor(*destructor, object, ends_.end_of(variable, site));
  if (destructor != nullptr && !destructor->isTrivial() && !destructor->hasBody() && !destructor->isDefaulted() &&
      !unit_.symbols.in_system_header(*destructor))
    call_destructor(*destructor, object, ends_.end_of(variable, site));
}

void Lifetimes::destroy_member(ir::PlaceId member, const clang::FieldDecl& field, ir::SiteId site) {
  if (unit_.symbols.is_tensor(field.getType())) return tensors_.free_tensor(member, site);
  if (!destroy_shared(&field, member, site)) destroy(member, field.getType(), site);
}

bool Lifetimes::destroy_shared(const clang::ValueDecl* owner, ir::PlaceId object, ir::SiteId site) {
  const clang::FunctionDecl* deleter = owner == nullptr ? nullptr : unit_.census.deleter(*owner);
  if (deleter == nullptr || object == ir::kNoPlace) return false;
  const Operand held = value(places_.data(object));
  if (const Model* model = unit_.symbols.known(*deleter).model) {
    const api::EffectKind effect = model->effect.kind;
    if (model->action != ActionKind::Effect || (effect != api::EffectKind::Free && effect != api::EffectKind::FreeHost))
      return false;
    ir::Site end = out_.site_of(site);
    end.text = model->name;
    ir::Op op{.kind = OpKind::Free, .site = out_.add(std::move(end)), .name = model->name};
    op.source = held;
    op.memory = model->memory;
    out_.emit(std::move(op));
    return true;
  }
  if (unit_.census.lowered(*deleter) == nullptr) return false;
  // What a lambda has captured is kept with the pointer, as in a std::function.
  ir::Op op{.kind = OpKind::Call, .site = ends_.end_of(llvm::dyn_cast<clang::VarDecl>(owner), site)};
  op.callee = unit_.usr(*deleter);
  op.name = unit_.symbols.shown(*deleter);
  op.object = llvm::isa<clang::CXXMethodDecl>(deleter) ? address(object) : Operand{};
  op.arguments.push_back(held);
  out_.emit(std::move(op));
  return true;
}

void Lifetimes::destroy_owner(ir::PlaceId object, clang::QualType type, ir::SiteId site,
                              const clang::VarDecl* variable) {
  const auto owner = unit_.symbols.owner(type);
  if (!owner) return;
  if (owner->tensor) {
    // Temporaries, and what a pointer leads to: others may hold it.
    if (variable != nullptr) tensors_.free_tensor(object, site);
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
          return call_deleter(deleter, object, site);
        if (!inner->isArrayType()) destroy(places_.pointee(value(places_.data(object)), inner), inner, site);
      }
    }
    if (variable != nullptr && scan_.until_exit.contains(variable)) return;
    // cudaFreeHost, by an allocator, waits today. One that keeps the block for the next to ask for it does not.
    const clang::FunctionDecl* gives_back =
        unit_.symbols.block_memory(type) == MemoryKind::Pinned ? deallocator(type) : nullptr;
    if (gives_back != nullptr && unit_.census.is_root(*gives_back)) {
      ir::Op op{.kind = OpKind::Free, .site = site};
      op.source = value(places_.data(object));
      op.memory = MemoryKind::Pinned;
      op.name = unit_.symbols.shown(*gives_back);
      out_.emit(std::move(op));
      return;
    }
    return ends_.end_of_life(value(places_.data(object)), variable != nullptr ? "goes out of scope" : "ends", site);
  }
  ir::Op op{.kind = OpKind::Free, .site = site};
  op.source = value(places_.data(object));
  op.memory = owner->memory;
  if (owner->stream_ordered) op.stream = value(places_.stream_of(object));
  out_.emit(std::move(op));
}

void Lifetimes::call_deleter(const clang::CXXRecordDecl* deleter, ir::PlaceId owner, ir::SiteId site) {
  const ir::PlaceId pointer = places_.data(owner);
  const clang::FunctionDecl* body = nullptr;
  if (deleter != nullptr)
    for (const clang::CXXMethodDecl* method : deleter->methods())
      if (method->getOverloadedOperator() == clang::OO_Call && method->getNumParams() == 1) body = method;
  if (body == nullptr || unit_.census.lowered(*body) == nullptr) {
    // The memory is whatever it frees.
    out_.emit({.kind = OpKind::Escape, .site = site, .source = value(pointer)});
    return;
  }
  ir::Op op{.kind = OpKind::Call, .site = site};
  op.callee = unit_.usr(*body);
  op.name = unit_.symbols.shown(*body);
  // What the deleter knows is kept with the pointer.
  op.object = address(owner);
  op.arguments.push_back(value(pointer));
  out_.emit(std::move(op));
}

void Lifetimes::allocate_new(const clang::CXXNewExpr& allocation) {
  if (allocation.getNumPlacementArgs() > 0) {
    const ir::PlaceId at = out_.temporary(TypeKind::Pointer);
    out_.emit_assign(at, values_.memory(allocation.getPlacementArg(0)), out_.site(allocation));
    if (allocation.hasInitializer() && allocation.getNumPlacementArgs() == 1) {
      ir::Op made{.kind = OpKind::HostAccess, .site = out_.site(allocation)};
      made.accesses.push_back(values_.access(value(at), ir::Mode::Write));
      out_.emit(std::move(made));
    }
    places_.set_allocated(allocation, at);
    values_.set_result(allocation, value(at), at);
    return;
  }
  const ir::PlaceId made = places_.destination(allocation, allocation.getType());
  ir::Op op{.kind = OpKind::Allocate, .site = out_.site(allocation, "new"), .target = made, .name = "new"};
  op.memory = MemoryKind::Pageable;
  out_.emit(std::move(op));
  places_.set_allocated(allocation, made);
  values_.set_result(allocation, value(made), made);
}

void Lifetimes::delete_object(const clang::CXXDeleteExpr& deletion) {
  const ir::SiteId at = out_.site(deletion, "delete");
  const Operand pointer = values_.operand(deletion.getArgument());
  const clang::QualType type = deletion.getDestroyedType();
  if (!deletion.isArrayForm() && !type.isNull() && type->isRecordType()) {
    const clang::CXXDestructorDecl* destructor = Symbols::record(type)->getDestructor();
    if (destructor != nullptr && destructor->isVirtual() && !Symbols::record(type)->isEffectivelyFinal()) {
      if (pointer.kind == Operand::Kind::Value) out_.emit({.kind = OpKind::Escape, .site = at, .source = pointer});
      out_.emit({.kind = OpKind::MaySync, .site = at, .name = "delete"});
      return;
    }
    destroy(places_.pointee(pointer, type), type, at);
  }
  ends_.end_of_life(pointer, "is deleted", at);
}

}  // namespace streamsan::analyzer::host
