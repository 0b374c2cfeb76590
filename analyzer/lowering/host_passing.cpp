// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens to the arguments of a call whose code is not seen.
//
// Code that may do anything keeps what it is given. Code that is known to do nothing to streams, like that of the C
// library, only changes what it is given by reference, or by the address of a variable, to write to.
#include "analyzer/lowering/host_arguments.h"

#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;

void Arguments::escape(const Call& call) {
  const auto escape = [&](const Operand& given) {
    if (given.kind != Operand::Kind::Value && given.kind != Operand::Kind::Address) return;
    out_.emit({.kind = OpKind::Escape, .site = call.site, .source = given});
  };
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const clang::Expr* given = call.arguments[i];
    const bool known = call.callee != nullptr && i < call.callee->getNumParams();
    const bool by_reference = known ? call.by_reference(i) : given->isGLValue();
    const TypeKind of = out_.kind(given->getType());
    if (of == TypeKind::Other && !by_reference) continue;
    if (of == TypeKind::Integer && !by_reference) continue;
    escape(values_.argument_operand(given, by_reference));
    if (by_reference) {
      const ir::PlaceId referent = places_.place(given);
      if (out_.kind(referent) == TypeKind::Integer) out_.emit_fresh(referent, call.site);
    }
  }
  if (call.object != ir::kNoPlace) escape(address(call.object));
}

void Arguments::fresh_arguments(const Call& call) {
  for (std::size_t i = 0; i < call.arguments.size() && i < call.callee->getNumParams(); ++i) {
    const clang::QualType parameter = call.callee->getParamDecl(static_cast<unsigned>(i))->getType();
    const bool writes =
        (parameter->isReferenceType() || parameter->isPointerType()) && !parameter->getPointeeType().isConstQualified();
    if (!writes || parameter->isRValueReferenceType()) continue;
    const clang::Expr* at = strip(call.arguments[i]);
    const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at);
    const bool named = unary != nullptr && unary->getOpcode() == clang::UO_AddrOf;
    if (parameter->isPointerType() && !named) continue;
    const ir::PlaceId target = places_.place(named ? unary->getSubExpr() : at);
    if (target == ir::kNoPlace) continue;
    const TypeKind of = out_.kind(target);
    if (of == TypeKind::Integer || of == TypeKind::Pointer) out_.emit_fresh(target, call.site);
  }
}

void Arguments::hand_over_moved(const Call& call) {
  for (std::size_t i = 0; i < call.arguments.size() && i < call.callee->getNumParams(); ++i) {
    const clang::QualType parameter = call.callee->getParamDecl(static_cast<unsigned>(i))->getType();
    const clang::Expr* given = call.arguments[i];
    const bool moved = parameter->isRValueReferenceType() && given->isXValue();
    if (!moved || out_.kind(given->getType()) != TypeKind::Object) continue;
    if (const ir::PlaceId from = places_.place(given); from != ir::kNoPlace)
      out_.emit({.kind = OpKind::Escape, .site = call.site, .source = address(from)});
  }
}

void Arguments::host_touch(const Call& call) {
  ir::Op op = start(OpKind::HostAccess, call);
  add_roles(call, op, 0);
  std::erase_if(op.accesses, [](const ir::Access& access) {
    return access.memory.kind != Operand::Kind::Value && access.memory.kind != Operand::Kind::Address;
  });
  if (!op.accesses.empty()) out_.emit(std::move(op));
  fresh_arguments(call);
}

}  // namespace streamsan::analyzer::host
