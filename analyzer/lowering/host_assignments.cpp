// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that move into places.
//
// Handles and pointers are copied; integers get a new version with every write, unless they are a copy of another
// integer or a constant. Objects are copied by name; the engine copies the parts that the function mentions.
#include "analyzer/lowering/host_assignments.h"

#include "analyzer/ir/hidden.h"
#include "analyzer/ir/unnamed.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_numbers.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_tensors.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "analyzer/models/types.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::TypeKind;

Assignments::Assignments(const Parts& parts)
    : unit_(parts.unit),
      scan_(parts.scan),
      out_(parts.out),
      numbers_(parts.numbers),
      places_(parts.places),
      values_(parts.values),
      tensors_(parts.tensors) {}

void Assignments::initialize(ir::PlaceId target, const clang::Expr* value) {
  if (target == ir::kNoPlace || value == nullptr) return;
  // A member of reference type is a pointer.
  if (value->isGLValue() && out_.kind(target) == TypeKind::Pointer && !value->getType()->isArrayType() &&
      out_.kind(value->getType()) != TypeKind::Pointer) {
    const ir::PlaceId referent = places_.place(value);
    return out_.emit_assign(target, referent == ir::kNoPlace ? unknown() : values_.address_of(referent),
                            out_.site(*value));
  }
  assign(target, value);
}

std::optional<ir::Expr> Assignments::slot_step(ir::PlaceId target, const clang::Expr* source) {
  if (constant(source, unit_.context)) return std::nullopt;
  const clang::Expr* next = strip(source);
  const auto positive = [&](const clang::Expr* number) { return constant(number, unit_.context).value_or(1) > 0; };
  bool steps = false;
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(next)) {
    const clang::Expr *left = binary->getLHS(), *right = binary->getRHS();
    switch (binary->getOpcode()) {
      case clang::BO_Rem:
        steps = positive(right);
        break;
      case clang::BO_Xor:
      case clang::BO_And:
        steps = constant(right, unit_.context).value_or(0) > 0;
        break;
      case clang::BO_Sub:
        steps = constant(left, unit_.context) == 1;
        [[fallthrough]];
      case clang::BO_Add:
        // `next = next + 1`
        steps = steps || (constant(right, unit_.context) == 1 && out_.is_variable(target) && strip(left)->isGLValue() &&
                          places_.place(left) == target);
        break;
      default:
        break;
    }
  } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(next)) {
    steps = unary->getOpcode() == clang::UO_LNot;
  } else if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(next)) {
    // `next + 1 == 3 ? 0 : next + 1`
    steps = constant(choice->getTrueExpr(), unit_.context) == 0 || constant(choice->getFalseExpr(), unit_.context) == 0;
  }
  if (!steps) return std::nullopt;
  ir::Expr value = values_.scalar(next);
  if (value.uses.empty()) return std::nullopt;
  return value;
}

void Assignments::assign(ir::PlaceId target, const clang::Expr* source) {
  const clang::Expr* value = strip(source);
  switch (out_.kind(target)) {
    case TypeKind::Other:
      return;
    case TypeKind::Integer:
      if (auto next = slot_step(target, source))
        return out_.emit_assign(target, {.kind = ir::Operand::Kind::Number, .offset = out_.add(std::move(*next))},
                                out_.site(*source));
      return out_.emit_assign(target, values_.computed_integer(source), out_.site(*source));
    case TypeKind::Event:
      if (is_launch_attribute(out_[target].owner))
        out_.emit({.kind = ir::OpKind::Escape, .site = out_.site(*source), .source = values_.operand(source)});
      [[fallthrough]];
    case TypeKind::Stream:
    case TypeKind::Graph:
    case TypeKind::Pointer:
      return out_.emit_assign(target, values_.operand(source), out_.site(*source));
    case TypeKind::Object:
      break;
  }
  if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(value)) return initialize_parts(target, *list);
  const ir::PlaceId from = places_.place(value);
  if (from == target) return;
  if (from == ir::kNoPlace) return out_.emit_fresh(target, out_.site(*source));
  copy_object(target, from, value->getType());
}

void Assignments::copy_object(ir::PlaceId target, ir::PlaceId source, clang::QualType type) {
  if (target == source) return;
  if (unit_.symbols.is_tensor(type)) return tensors_.share_tensor(target, source, /*moves=*/false, ir::kNoSite);
  take_over(target, source, type);
  tensors_.keep(target, type, ir::kNoSite);
}

void Assignments::take_over(ir::PlaceId target, ir::PlaceId source, clang::QualType type) {
  out_.emit_assign(target, value(source), ir::kNoSite);
  // What only library code ever names is copied by name: the engine copies the parts that the function mentions.
  if (unit_.symbols.points(type) || unit_.symbols.has_block(type))
    out_.emit_assign(places_.data(target), value(places_.data(source)), ir::kNoSite);
}

void Assignments::copy_fields(ir::PlaceId target, ir::PlaceId source, const clang::CXXRecordDecl& of) {
  if (target == source) return;
  for (const clang::CXXBaseSpecifier& base : of.bases())
    if (const clang::CXXRecordDecl* record = Symbols::record(base.getType()); record != nullptr)
      copy_fields(target, source, *record->getDefinition());
  for (const clang::FieldDecl* field : of.fields()) {
    const ir::PlaceId to = places_.member(target, *field), from = places_.member(source, *field);
    if (to == ir::kNoPlace || from == ir::kNoPlace) continue;
    if (out_.kind(to) == TypeKind::Object)
      copy_object(to, from, field->getType());
    else if (out_.kind(to) != TypeKind::Other)
      out_.emit_assign(to, value(from), ir::kNoSite);
  }
}

void Assignments::move_object(ir::PlaceId target, ir::PlaceId source, clang::QualType type, ir::SiteId site) {
  if (unit_.symbols.is_tensor(type)) return tensors_.share_tensor(target, source, /*moves=*/true, site);
  if (target == source) return;
  if (out_.kind(target) != TypeKind::Object) return out_.emit_assign(target, value(source), site);
  take_over(target, source, type);
  if (unit_.symbols.points(type) || unit_.symbols.has_block(type))
    return out_.emit_assign(places_.data(source), {.kind = ir::Operand::Kind::Null}, site);
  out_.emit_fresh(source, site);
}

void Assignments::swap(ir::PlaceId left, ir::PlaceId right, ir::SiteId site) {
  if (left == ir::kNoPlace || right == ir::kNoPlace) {
    out_.emit_fresh(left, site);
    return out_.emit_fresh(right, site);
  }
  const clang::QualType type = out_.type_of(left);
  const ir::PlaceId held = type.isNull() ? out_.temporary(out_.kind(left)) : out_.object_temporary(type);
  const auto move = [&](ir::PlaceId to, ir::PlaceId from) {
    out_.emit_assign(to, value(from), site);
    if (out_.kind(left) == TypeKind::Object && (unit_.symbols.points(type) || unit_.symbols.has_block(type)))
      out_.emit_assign(places_.data(to), value(places_.data(from)), site);
  };
  move(held, left);
  move(left, right);
  move(right, held);
}

void Assignments::initialize_parts(ir::PlaceId target, const clang::InitListExpr& list) {
  if (list.getNumInits() == 1 && list.isTransparent()) return assign(target, list.getInit(0));
  if (const clang::CXXRecordDecl* record = Symbols::record(list.getType())) {
    unsigned next = 0;
    for (const clang::CXXBaseSpecifier& base : record->bases()) {
      (void)base;
      if (next < list.getNumInits()) initialize(target, list.getInit(next++));
    }
    for (const clang::FieldDecl* field : record->fields()) {
      if (field->isUnnamedBitField()) continue;
      if (next >= list.getNumInits()) return;
      const clang::Expr* value = list.getInit(next++);
      const TypeKind of = out_.kind(field->getType());
      const bool number = of == TypeKind::Integer && constant(value, unit_.context).has_value();
      if (number || (of != TypeKind::Other && of != TypeKind::Integer))
        initialize(places_.member(target, *field), value);
    }
    return;
  }
  // Long tables are data; arrays of handles are short.
  constexpr unsigned kMostElements = 64;
  const clang::QualType type = list.getType();
  if (!type->isArrayType() || list.getNumInits() > kMostElements) return;
  const clang::QualType inner(type->getArrayElementTypeNoTypeQual(), 0);
  const TypeKind of = out_.kind(inner);
  if (of == TypeKind::Other || of == TypeKind::Integer) return;
  for (unsigned i = 0; i < list.getNumInits(); ++i) {
    const clang::Expr* value = list.getInit(i);
    if (of == TypeKind::Pointer && llvm::isa<clang::StringLiteral>(strip(value))) continue;
    initialize(places_.element(target, numbers_.number(i), inner), value);
    // `for (cudaStream_t* each : {&load_, &compute_}) create(each);`: which element is meant in a round is not
    // followed.
    const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(strip(value));
    if (unary == nullptr || unary->getOpcode() != clang::UO_AddrOf) continue;
    const TypeKind named = out_.kind(unary->getSubExpr()->getType());
    if (named == TypeKind::Stream || named == TypeKind::Event)
      out_.emit({.kind = ir::OpKind::Escape, .site = out_.site(*value), .source = values_.operand(value)});
  }
}

void Assignments::choose(const clang::Expr& branch) {
  const clang::AbstractConditionalOperator* choice = scan_.branches.find(&branch)->second;
  const clang::QualType type = choice->getType();
  const bool reference = choice->isGLValue() && !scan_.values.contains(choice);
  const TypeKind of = reference ? TypeKind::Pointer : out_.kind(type);
  if (of == TypeKind::Other || of == TypeKind::Integer) return;
  const auto [entry, fresh] = choices_.try_emplace(choice, ir::kNoPlace);
  if (fresh) {
    entry->second = reference ? out_.temporary(of) : places_.destination(*choice, type);
    const ir::PlaceId chosen = entry->second;
    if (reference) {
      const ir::PlaceId referent = places_.pointee(value(chosen), type);
      values_.set_result(*choice, value(referent), referent);
    } else {
      values_.set_result(*choice, value(chosen), chosen);
    }
  }
  const ir::PlaceId target = choices_[choice];
  if (!reference) return assign(target, &branch);
  const ir::PlaceId referent = places_.place(&branch);
  out_.emit_assign(target, referent == ir::kNoPlace ? unknown() : values_.address_of(referent), out_.site(branch));
}

void Assignments::make_closure(const clang::LambdaExpr& lambda) {
  const ir::PlaceId closure = places_.destination(lambda, lambda.getType());
  auto initializer = lambda.capture_init_begin();
  for (const clang::LambdaCapture& capture : lambda.captures()) {
    const clang::Expr* value = *initializer++;
    if (capture.capturesThis()) {
      const ir::PlaceId target = out_.field(closure, ir::name(ir::Hidden::Captured), ir::kLambda, TypeKind::Pointer);
      const bool copy = capture.getCaptureKind() == clang::LCK_StarThis;
      out_.emit_assign(target, copy ? unknown() : address(places_.this_place()), out_.site(lambda));
    } else if (capture.capturesVariable() && value != nullptr) {
      const clang::ValueDecl* variable = capture.getCapturedVar();
      const bool reference = capture.getCaptureKind() == clang::LCK_ByRef;
      const ir::PlaceId target = places_.closure_field(closure, *variable, reference);
      if (!reference) {
        initialize(target, value);
      } else {
        const ir::PlaceId referent = places_.variable(*variable);
        out_.emit_assign(target, referent == ir::kNoPlace ? unknown() : values_.address_of(referent),
                         out_.site(lambda));
      }
    }
  }
  values_.set_result(lambda, value(closure), closure);
}

}  // namespace streamsan::analyzer::host
