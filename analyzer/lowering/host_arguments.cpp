// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The positions in a model, as what stands there in a call.
//
// A stream that was not written is the default stream, and where the function has a place for one the op says so and
// the site knows where to put it. What a role says of memory concerns pointers, containers and iterators. An argument
// bound to a reference is the memory itself.
#include "analyzer/lowering/host_arguments.h"

#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_ends.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::TypeKind;

namespace {

bool defaulted(const clang::Expr* argument) { return llvm::isa<clang::CXXDefaultArgExpr>(argument); }

}  // namespace

Arguments::Arguments(const Parts& parts)
    : unit_(parts.unit), out_(parts.out), places_(parts.places), values_(parts.values), ends_(parts.ends) {}

Operand Arguments::operand_at(const Call& call, int position) {
  if (position == kObject) return call.object == ir::kNoPlace ? unknown() : value(call.object);
  if (position == kResult) return value(values_.result_place(*call.expression));
  const clang::Expr* given = call.argument(position);
  return given == nullptr ? Operand{} : values_.operand(given);
}

ir::PlaceId Arguments::target_at(const Call& call, int position) {
  if (position == kObject) return call.object;
  if (position == kResult) return values_.result_place(*call.expression);
  const clang::Expr* given = call.argument(position);
  if (given == nullptr) return ir::kNoPlace;
  return call.by_reference(static_cast<std::size_t>(position)) ? places_.place(given) : places_.target_of(given);
}

ir::PlaceId Arguments::handle_stream(const Call& call, int position) {
  ir::PlaceId handle = call.object;
  if (position >= 0) {
    const clang::Expr* given = call.argument(position);
    if (given == nullptr) return ir::kNoPlace;
    const TypeKind of = out_.kind(given->getType());
    if (of == TypeKind::Object) {
      handle = places_.place(given);
    } else {
      // The handle is a value; copies of it mean one object.
      const Operand held = of == TypeKind::Integer ? value(places_.place(given)) : values_.operand(given);
      if (held.kind != Operand::Kind::Value || held.place == ir::kNoPlace) return ir::kNoPlace;
      handle = places_.pointee(held, {});
    }
  }
  if (handle == ir::kNoPlace) return ir::kNoPlace;
  return places_.stream_of(handle);
}

void Arguments::add_stream_slot(const Call& call, std::size_t position) {
  const auto* written = llvm::dyn_cast<clang::CallExpr>(call.expression);
  if (written != nullptr && call.object_expression == nullptr)
    unit_.sites.add_stream_slot(out_.site_of(call.site), *written, static_cast<unsigned>(position));
}

Operand Arguments::typed_stream(const Call& call, ir::Op* op) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const clang::Expr* given = call.arguments[i];
    const bool known = call.callee != nullptr && i < call.callee->getNumParams();
    const TypeKind of =
        out_.kind(known ? call.callee->getParamDecl(static_cast<unsigned>(i))->getType() : given->getType());
    if (of != TypeKind::Stream) continue;
    if (op != nullptr) {
      op->implicit_stream = defaulted(given);
      add_stream_slot(call, i);
    }
    return values_.stream(given);
  }
  return {.kind = Operand::Kind::DefaultStream};
}

Operand Arguments::stream_of(const Call& call, ir::Op* op) {
  const Model& model = *call.model;
  switch (model.stream_from) {
    case StreamFrom::None:
      return {};
    case StreamFrom::Argument: {
      if (model.stream_argument == kObject || model.stream_argument == kResult)
        return operand_at(call, model.stream_argument);
      const clang::Expr* given = call.argument(model.stream_argument);
      if (op != nullptr) op->implicit_stream = given == nullptr || defaulted(given);
      if (op != nullptr && given != nullptr) add_stream_slot(call, static_cast<std::size_t>(model.stream_argument));
      if (given == nullptr) return {.kind = Operand::Kind::DefaultStream};
      const Operand named = values_.stream(given);
      if (model.per_thread && named.kind == Operand::Kind::DefaultStream)
        return {.kind = Operand::Kind::PerThreadStream};
      return named;
    }
    case StreamFrom::Typed:
      return typed_stream(call, op);
    case StreamFrom::Default:
      return {.kind = model.per_thread ? Operand::Kind::PerThreadStream : Operand::Kind::DefaultStream};
    case StreamFrom::Handle: {
      const ir::PlaceId held = handle_stream(call, model.handle_argument);
      return held == ir::kNoPlace ? unknown() : value(held);
    }
    case StreamFrom::Current:
      return value(places_.current_stream());
    case StreamFrom::Config: {
      const clang::Expr* given = call.argument(model.config_argument);
      const ir::PlaceId config = given == nullptr ? ir::kNoPlace : places_.target_of(given);
      const clang::CXXRecordDecl* record = config == ir::kNoPlace ? nullptr : Symbols::record(out_.type_of(config));
      if (record == nullptr) return unknown();
      for (const clang::FieldDecl* candidate : record->fields())
        if (candidate->getName() == "stream" || candidate->getName() == "hStream")
          return value(places_.member(config, *candidate));
      return unknown();
    }
  }
  return unknown();
}

void Arguments::add_role(const Call& call, ir::Op& op, const Role& role, int position) {
  Operand memory;
  ir::Mode mode = role.mode;
  if (position == kObject) {
    if (call.object == ir::kNoPlace) return;
    const clang::QualType type = out_.type_of(call.object);
    memory = unit_.symbols.has_block(type) || unit_.symbols.points(type) ||
                     (unit_.symbols.owner(type) && unit_.symbols.owner(type)->tensor)
                 ? value(places_.data(call.object))
                 : address(call.object);
  } else if (position >= 0) {
    const clang::Expr* given = call.argument(position);
    if (given == nullptr) return;
    const bool known = static_cast<unsigned>(position) < call.callee->getNumParams();
    const clang::QualType parameter =
        known ? call.callee->getParamDecl(static_cast<unsigned>(position))->getType() : given->getType();
    const clang::Expr* at = strip(given);
    const bool object = out_.kind(at->getType()) == TypeKind::Object && !at->getType()->isArrayType();
    if (parameter->isReferenceType() && !object && out_.kind(parameter) != TypeKind::Pointer) {
      // A reference to the memory itself: a symbol, an element; or to a value that dies with the statement.
      memory = values_.address_of(places_.place(given));
      if (memory.kind == Operand::Kind::Unknown && role.host) memory = ends_.dying(given);
    } else {
      memory = values_.memory(given);
    }
    if (memory.kind == Operand::Kind::Unknown && out_.kind(given->getType()) != TypeKind::Pointer && role.to_end)
      return;
    // alpha, beta, descriptors: variables of the host are read during the call.
    if (role.by_type && !role.host && memory.kind == Operand::Kind::Address) return;
    // What printf() is given as text is text.
    if (role.to_end && at->getType()->isPointerType() && at->getType()->getPointeeType()->isCharType() &&
        at->getType()->getPointeeType().isConstQualified())
      return;
    if (role.by_type) {
      const clang::QualType type = parameter.getNonReferenceType();
      if (!type->isPointerType() && !object) return;
      if (type->isPointerType() && type->getPointeeType().isConstQualified()) mode = ir::Mode::Read;
    }
  } else {
    return;
  }
  if (memory.kind == Operand::Kind::Null || memory.kind == Operand::Kind::None) return;
  ir::Access access = values_.access(values_.bytes_at(memory), mode);
  if (const clang::Expr* bytes = call.argument(role.bytes_argument)) access.bytes = values_.expr(bytes);
  if (role.host) access.on_host = true;
  op.accesses.push_back(access);
}

void Arguments::add_roles(const Call& call, ir::Op& op, int shift) {
  for (const Role& role : call.model->roles) {
    const int first = role.argument < 0 ? role.argument : role.argument + shift;
    add_role(call, op, role, first);
    if (!role.to_end || first < 0) continue;
    for (std::size_t next = static_cast<std::size_t>(first) + 1; next < call.arguments.size(); ++next)
      add_role(call, op, role, static_cast<int>(next));
  }
}

}  // namespace streamsan::analyzer::host
