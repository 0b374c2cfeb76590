// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pools of memory (free_lists.h).
//
// Of a free list one thing is kept: the block that it gives out next, `$next`. Who gives a block back puts it there;
// who takes one gets what is there, and leaves a block of which nothing is known but that it is another one. So a block
// that goes back while a copy still uses it is the one that the next user writes, and who holds two blocks at a time
// has two.
//
//   take():   p = free_.$next;  free_.$next = a new block          put(p):   free_.$next = p
//
// That is what a list does whose last block is taken first, and what any list may do that has no other block. An
// allocation where it is empty makes no difference: what is handed out is `$next` on all ways, unless the function may
// wait on some of them, which are those where the block comes out of the list. Two blocks given back one after the
// other are one that is known and one that is forgotten. A list with keys has a `$next` for each; where a block goes
// back under the key that the program keeps of it, that is the one that it was taken out under, `$key`. Errs where
// blocks of different sizes are taken out of one list by something else than a key, which need not be one block; so
// what follows from this is never definite (analysis/look.cpp).
#include "analyzer/lowering/host_free_lists.h"

#include "analyzer/ir/hidden.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_maps.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
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

/// What a smart pointer points to is known by a pointer.
clang::QualType kept_as(Unit& unit, clang::QualType block) {
  if (!unit.symbols.points(block)) return block.getUnqualifiedType();
  const auto* owner = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(Symbols::record(block));
  if (owner == nullptr || owner->getTemplateArgs().size() == 0) return {};
  const clang::TemplateArgument& of = owner->getTemplateArgs()[0];
  return of.getKind() == clang::TemplateArgument::Type ? unit.context.getPointerType(of.getAsType())
                                                       : clang::QualType();
}

bool is_null(const clang::Expr* value) {
  const clang::Expr* at = strip(value);
  return llvm::isa<clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr, clang::ImplicitValueInitExpr,
                   clang::CXXScalarValueInitExpr>(at) ||
         (llvm::isa<clang::InitListExpr>(at) && llvm::cast<clang::InitListExpr>(at)->getNumInits() == 0);
}

}  // namespace

Pools::Pools(const Parts& parts)
    : unit_(parts.unit), out_(parts.out), places_(parts.places), values_(parts.values), maps_(parts.maps) {
  const auto known = unit_.free_lists.takings.find(&parts.definition);
  if (known != unit_.free_lists.takings.end()) taking_ = &known->second;
}

ir::PlaceId Pools::next_of(const clang::Expr& container, clang::QualType block, const clang::Expr* key) {
  const clang::QualType type = kept_as(unit_, block.getNonReferenceType());
  ir::PlaceId list = type.isNull() ? ir::kNoPlace : places_.place(&container);
  if (list == ir::kNoPlace || out_[list].name.empty()) return ir::kNoPlace;
  const ir::PlaceId of = list;
  if (key != nullptr) {
    const ir::ExprId under = values_.expr(key);
    if (under == ir::kNoExpr) return ir::kNoPlace;
    list = places_.element(list, under, container.getType().getNonReferenceType());
  }
  return next_in(list, of, type);
}

ir::PlaceId Pools::next_in(ir::PlaceId list, ir::PlaceId of, clang::QualType type) {
  // The name of the list is part of the field's: what kind of memory is in it is known by that (ir/field_memory.h).
  const std::string owner = out_[of].owner + "::" + out_[of].name;
  return out_.typed(out_.field(list, ir::name(ir::Hidden::Next), owner, out_.kind(type)), type);
}

/// What a place holds, whether or not it has a name.
ir::ExprId Pools::held_by(ir::PlaceId place) {
  return out_.add(ir::Expr{.text = "$0", .uses = {place}, .constant = {}});
}

ir::PlaceId Pools::key_of(ir::PlaceId list, ir::PlaceId block) {
  const ir::PlaceId keys = out_.field(list, ir::name(ir::Hidden::KeyOf), "", TypeKind::Object);
  return out_.element(keys, held_by(block), unit_.context.getSizeType());
}

ir::PlaceId Pools::next_of_own(const FreeLists::Giving& giving, const Operand& block) {
  const clang::Expr* named = strip(giving.container);
  if (giving.entry) named = llvm::cast<clang::CXXOperatorCallExpr>(named)->getArg(0);
  const clang::QualType type = kept_as(unit_, giving.block->getType().getNonReferenceType());
  const ir::PlaceId map = type.isNull() || block.kind != Operand::Kind::Value ? ir::kNoPlace : places_.place(named);
  if (map == ir::kNoPlace || block.offset != ir::kNoExpr || out_[map].name.empty()) return ir::kNoPlace;
  const ir::PlaceId key = key_of(map, block.place);
  const ir::ExprId under = held_by(key);
  if (!giving.entry) return next_in(places_.element(map, under, named->getType().getNonReferenceType()), map, type);
  const ir::PlaceId list = maps_.slot_at(map, under);
  return list == ir::kNoPlace ? list : next_in(list, list, type);
}

void Pools::enter() {
  if (taking_ != nullptr && taking_->through == nullptr && taking_->found == nullptr) take();
}

void Pools::take() {
  const ir::PlaceId next =
      next_of(*taking_->container, taking_->type, taking_->found == nullptr ? nullptr : taking_->found->getArg(0));
  if (next == ir::kNoPlace) return;
  const ir::SiteId site = out_.site(*taking_->element);
  const clang::QualType type = out_.type_of(next);
  taken_ = out_.kind(type) == TypeKind::Object ? out_.object_temporary(type)
                                               : out_.typed(out_.temporary(out_.kind(type)), type);
  out_.emit_assign(taken_, value(next), site);
  remember_key(site);
  renew(next, site);
}

void Pools::remember_key(ir::SiteId site) {
  const clang::Expr* key = taking_->found != nullptr ? taking_->found->getArg(0) : taking_->key_of_entry;
  if (key == nullptr || out_.kind(taken_) != TypeKind::Pointer) return;
  const clang::Expr* named = strip(taking_->container);
  if (taking_->found == nullptr) {
    if (taking_->through != nullptr) named = strip(taking_->through->getInit());
    const auto* index = llvm::dyn_cast<clang::CXXOperatorCallExpr>(named);
    if (index == nullptr) return;
    named = index->getArg(0);
  }
  if (const ir::PlaceId map = places_.place(named); map != ir::kNoPlace)
    out_.emit_assign(key_of(map, taken_), values_.integer(key), site);
}

void Pools::allocate(ir::PlaceId pointer, std::optional<MemoryKind> memory, ir::SiteId site) {
  ir::Op op{.kind = OpKind::Allocate, .site = site, .target = pointer, .pooled = true};
  op.memory = memory == MemoryKind::DeviceAsync ? MemoryKind::Device : memory;
  out_.emit(std::move(op));
}

void Pools::renew(ir::PlaceId next, ir::SiteId site) {
  clang::QualType type = out_.type_of(next);
  ir::PlaceId object = next;
  if (out_.kind(next) == TypeKind::Pointer) {
    type = type->isPointerType() ? type->getPointeeType() : clang::QualType();
    const clang::CXXRecordDecl* pointed = type.isNull() ? nullptr : Symbols::record(type);
    const bool is_object = pointed != nullptr && pointed->hasDefinition() && !pointed->isInStdNamespace();
    allocate(next, is_object ? std::optional<MemoryKind>() : taking_->memory, site);
    if (!is_object) return;
    object = places_.pointee(value(next), type);
  } else {
    out_.emit_fresh(next, site);
  }
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (record == nullptr || object == ir::kNoPlace) return;
  for (const clang::FieldDecl* field : record->fields()) {
    const ir::PlaceId part = places_.member(object, *field);
    if (part == ir::kNoPlace || out_.kind(part) != TypeKind::Pointer || !field->getType()->isPointerType()) continue;
    const auto made = unit_.free_lists.made.find(field);
    allocate(part, made == unit_.free_lists.made.end() ? std::nullopt : std::optional(made->second), site);
  }
}

void Pools::hand_out(const clang::VarDecl& variable, const clang::Stmt& at) {
  const ir::PlaceId place = places_.variable(variable);
  if (place == ir::kNoPlace) return;
  const bool owner = unit_.symbols.points(variable.getType());
  out_.emit_assign(owner ? places_.data(place) : place, value(taken_), out_.site(at));
}

void Pools::before(const clang::Stmt& statement) {
  const auto giving = unit_.free_lists.givings.find(&statement);
  if (giving == unit_.free_lists.givings.end()) return;
  const FreeLists::Giving& known = giving->second;
  const clang::Expr *container = known.container, *block = known.block, *key = known.key;
  const clang::QualType type = block->getType();
  Operand given = values_.operand(block);
  if (unit_.symbols.points(type)) {
    const ir::PlaceId owner = places_.place(strip(block));
    given = owner == ir::kNoPlace ? unknown() : value(places_.data(owner));
  }
  ir::PlaceId next = known.own_key ? next_of_own(known, given) : ir::kNoPlace;
  if (next == ir::kNoPlace) next = next_of(*container, type, key);
  if (next != ir::kNoPlace) out_.emit_assign(next, given, out_.site(statement));
}

bool Pools::comes_out(const clang::Expr* held) const {
  return taking_->waits ? taking_->values.contains(held) : !is_null(held);
}

void Pools::after(const clang::Stmt& statement) {
  if (taking_ == nullptr) return;
  // The key is known where it is looked for.
  if (&statement == taking_->found) return take();
  if (const auto* declared = llvm::dyn_cast<clang::DeclStmt>(&statement)) {
    for (const clang::Decl* each : declared->decls()) {
      const auto* variable = llvm::dyn_cast<clang::VarDecl>(each);
      if (variable == nullptr) continue;
      if (variable == taking_->through && taking_->found == nullptr) take();
      if (taken_ != ir::kNoPlace && taking_->blocks.contains(variable) && variable->hasInit() &&
          comes_out(variable->getInit()))
        hand_out(*variable, statement);
    }
    return;
  }
  if (taken_ == ir::kNoPlace) return;
  const auto variable_of = [this](const clang::Expr* expression) -> const clang::VarDecl* {
    expression = strip(expression);
    while (const auto* member = llvm::dyn_cast<clang::MemberExpr>(expression)) expression = strip(member->getBase());
    const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(expression);
    const auto* variable = name == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(name->getDecl());
    return variable != nullptr && taking_->blocks.contains(variable) ? variable : nullptr;
  };
  if (const auto* assignment = llvm::dyn_cast<clang::BinaryOperator>(&statement)) {
    if (assignment->getOpcode() != clang::BO_Assign || !comes_out(assignment->getRHS())) return;
    if (const clang::VarDecl* variable = variable_of(assignment->getLHS())) hand_out(*variable, statement);
    return;
  }
  const auto* call = llvm::dyn_cast<clang::CallExpr>(&statement);
  if (call != nullptr && !taking_->waits)
    for (const clang::Expr* argument : call->arguments()) {
      const auto* address = llvm::dyn_cast<clang::UnaryOperator>(strip(argument));
      if (address == nullptr || address->getOpcode() != clang::UO_AddrOf) continue;
      if (const clang::VarDecl* variable = variable_of(address->getSubExpr())) hand_out(*variable, statement);
    }
  const auto* expression = llvm::dyn_cast<clang::Expr>(&statement);
  if (expression != nullptr && taking_->returned.contains(expression) && !unit_.symbols.points(expression->getType()))
    values_.set_result(*expression, value(taken_), taken_);
}

}  // namespace streamsan::analyzer::host
