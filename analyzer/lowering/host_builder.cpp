// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of the function that is written, and its sites.
#include "analyzer/lowering/host_builder.h"

#include "analyzer/ir/unnamed.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_unit.h"
#include "clang/AST/ASTContext.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::TypeKind;

FunctionBuilder::FunctionBuilder(Unit& unit, const clang::FunctionDecl& definition, const Scan& scan)
    : unit_(unit), scan_(scan) {
  function_.usr = unit.usr(definition);
  function_.name = unit.symbols.shown(definition);
  function_.per_thread_default_stream = unit.options.per_thread_default_stream;
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&definition);
  function_.hidden = method != nullptr &&
                     (llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(method) ||
                      method->getOverloadedOperator() == clang::OO_Equal || method->getAccess() != clang::AS_public);
  ir::Site site = unit.sites.at(definition.getLocation());
  site.function = function_.name;
  function_.site = function_.add(std::move(site));
}

TypeKind FunctionBuilder::kind(clang::QualType type) const { return unit_.symbols.kind(type); }

ir::PlaceId FunctionBuilder::parameter(const std::string& name, clang::QualType type) {
  Place place{.kind = Place::Kind::Parameter, .type = kind(type), .name = name};
  place.number = static_cast<std::uint32_t>(function_.parameters.size());
  place.reference = type->isReferenceType();
  if (name.empty()) place.name = ir::unnamed_parameter(place.number);
  const ir::PlaceId id = typed(function_.add(std::move(place)), type);
  function_.parameters.push_back(id);
  return id;
}

ir::PlaceId FunctionBuilder::typed(ir::PlaceId place, clang::QualType type) {
  const auto index = static_cast<std::size_t>(place);
  if (place_types_.size() <= index) place_types_.resize(index + 1);
  if (place_types_[index].isNull() && !type.isNull()) place_types_[index] = type.getNonReferenceType();
  return place;
}

clang::QualType FunctionBuilder::type_of(ir::PlaceId place) const {
  const auto index = static_cast<std::size_t>(place);
  return index < place_types_.size() ? place_types_[index] : clang::QualType();
}

ir::PlaceId FunctionBuilder::temporary(TypeKind type, const std::string& name) {
  return function_.add(Place{.kind = Place::Kind::Temporary, .type = type, .name = name, .number = ++temporaries_});
}

ir::PlaceId FunctionBuilder::object_temporary(clang::QualType type) { return typed(temporary(kind(type)), type); }

ir::PlaceId FunctionBuilder::new_local(const std::string& name, TypeKind type) {
  return function_.add(Place{.kind = Place::Kind::Local, .type = type, .name = name, .number = names_[name]++});
}

ir::PlaceId FunctionBuilder::global(const std::string& name, TypeKind type, std::uint32_t number) {
  return function_.add(Place{.kind = Place::Kind::Global, .type = type, .name = name, .number = number});
}

ir::PlaceId FunctionBuilder::field(ir::PlaceId base, const std::string& name, const std::string& owner, TypeKind type) {
  return function_.add(Place{.kind = Place::Kind::Field, .type = type, .name = name, .owner = owner, .base = base});
}

ir::PlaceId FunctionBuilder::self() {
  return function_.add(Place{.kind = Place::Kind::This, .type = TypeKind::Object, .name = "this"});
}

ir::PlaceId FunctionBuilder::element(ir::PlaceId base, ir::ExprId index, clang::QualType type) {
  Place place{.kind = Place::Kind::Index, .type = kind(type), .base = base, .index = index};
  return typed(function_.add(std::move(place)), type);
}

ir::PlaceId FunctionBuilder::dereferenced(ir::PlaceId pointer, clang::QualType type) {
  return typed(function_.add(Place{.kind = Place::Kind::Deref, .type = kind(type), .base = pointer}), type);
}

std::size_t FunctionBuilder::new_block() {
  function_.blocks.emplace_back();
  return function_.blocks.size() - 1;
}

void FunctionBuilder::link(std::size_t from, std::size_t to) {
  function_.blocks[from].successors.push_back(ir::BlockId{static_cast<std::uint32_t>(to)});
}

bool FunctionBuilder::is_variable(ir::PlaceId place) const {
  while (function_[place].kind == Place::Kind::Field) place = function_[place].base;
  return function_[place].base == ir::kNoPlace;
}

ir::Op& FunctionBuilder::emit(ir::Op op) {
  function_.blocks[block_].ops.push_back(std::move(op));
  return function_.blocks[block_].ops.back();
}

void FunctionBuilder::emit_assign(ir::PlaceId target, Operand source, ir::SiteId site) {
  if (target == ir::kNoPlace || kind(target) == TypeKind::Other) return;
  if (source.kind == Operand::Kind::Unknown || source.kind == Operand::Kind::None) return emit_fresh(target, site);
  if (source.kind == Operand::Kind::Value && source.place == target && source.offset == ir::kNoExpr) return;
  emit({.kind = OpKind::Assign, .site = site, .target = target, .source = source});
}

void FunctionBuilder::emit_fresh(ir::PlaceId target, ir::SiteId site) {
  if (target == ir::kNoPlace || kind(target) == TypeKind::Other) return;
  emit({.kind = OpKind::Fresh, .site = site, .target = target});
}

ir::SiteId FunctionBuilder::site(const clang::Stmt& what, const std::string& text, ir::Api api) {
  const auto [entry, fresh] = sites_.try_emplace(&what, ir::kNoSite);
  if (!fresh) {
    ir::Site& known = function_.sites[static_cast<std::size_t>(entry->second)];
    if (known.text.empty()) known.text = text, known.api = api;
    return entry->second;
  }
  const auto enclosing = scan_.statements.find(&what);
  ir::Site site = unit_.sites.of(what, enclosing == scan_.statements.end() ? nullptr : enclosing->second);
  site.function = function_.name;
  site.text = text;
  site.api = api;
  const ir::SiteId id = function_.add(std::move(site));
  return sites_[&what] = id;
}

ir::SiteId FunctionBuilder::point(const clang::Stmt& what, clang::SourceLocation location) {
  const auto [entry, fresh] = sites_.try_emplace(&what, ir::kNoSite);
  if (!fresh) return entry->second;
  ir::Site site = unit_.sites.at(location);
  site.function = function_.name;
  return entry->second = function_.add(std::move(site));
}

}  // namespace streamsan::analyzer::host
