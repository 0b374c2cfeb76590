// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls.
//
// In this order: a launch; a function that a model knows; a function of the standard library that only moves values; a
// function with a body, or of another translation unit, which stays a Call for the inliner; a function that certainly
// does nothing to streams, like one that is given a text and numbers to report; and the rest, which may do anything:
// its arguments escape, and everything may have been synchronised.
//
// Virtual functions are called by the class that the object is declared with where the object cannot be of a class
// derived from it; else by the only override that there is, if there is but one.
#include "analyzer/lowering/host_body.h"

#include "analyzer/ir/naming.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::Place;
using ir::TypeKind;

const clang::Expr* Body::argument(const Call& call, int position) const {
  if (position == kFirstBool) {
    for (const clang::Expr* given : call.arguments)
      if (given->getType()->isBooleanType()) return given;
    return nullptr;
  }
  return position >= 0 && static_cast<std::size_t>(position) < call.arguments.size()
             ? call.arguments[static_cast<std::size_t>(position)]
             : nullptr;
}

ir::Op Body::start(OpKind kind, const Call& call) {
  ir::Op op{.kind = kind, .site = call.site};
  if (call.known != nullptr) op.name = call.model != nullptr ? call.model->name : call.known->callee.qualified;
  op.unchecked = call.expression != nullptr && scan_.dropped.contains(call.expression);
  return op;
}

void Body::set_result(const Call& call, Operand value, ir::PlaceId place) {
  results_[strip(call.expression)] = {value, place};
}

ir::PlaceId Body::result_place(const Call& call) {
  if (const auto known = results_.find(strip(call.expression)); known != results_.end() &&
                                                                known->second.place != ir::kNoPlace &&
                                                                known->second.value.kind == Operand::Kind::Value)
    return known->second.place;
  const clang::QualType type = call.expression->getType();
  const ir::PlaceId made = destination(*call.expression, type);
  set_result(call, value(made), made);
  return made;
}

void Body::call(const clang::Expr& expression) {
  if (const auto* kernel_launch = llvm::dyn_cast<clang::CUDAKernelCallExpr>(&expression)) return launch(*kernel_launch);
  const auto& written = llvm::cast<clang::CallExpr>(expression);
  Call call;
  call.expression = &expression;
  call.callee = written.getDirectCallee();
  if (call.callee != nullptr && call.callee->getBuiltinID() != 0 && call.callee->getName().starts_with("__builtin_") &&
      !call.callee->getName().contains("mem"))
    return;
  call.arguments.append(written.arg_begin(), written.arg_end());
  const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call.callee);
  if (const auto* member = llvm::dyn_cast<clang::CXXMemberCallExpr>(&written)) {
    call.object_expression = member->getImplicitObjectArgument();
  } else if (llvm::isa<clang::CXXOperatorCallExpr>(written) && method != nullptr && method->isInstance() &&
             !call.arguments.empty()) {
    call.object_expression = call.arguments.front();
    call.arguments.erase(call.arguments.begin());
  }
  if (call.object_expression != nullptr) {
    const clang::QualType type = call.object_expression->getType();
    if (type->isPointerType()) {
      call.object = pointee(operand(call.object_expression), type->getPointeeType());
    } else {
      call.object = place(call.object_expression);
      const clang::Expr* named = strip(call.object_expression);
      const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(named);
      call.exact = reference != nullptr ? !reference->getDecl()->getType()->isReferenceType() : !named->isGLValue();
    }
  }
  // A launch's configuration is read with the launch.
  if (call.callee == nullptr) {
    call.site = site(expression, source_text(written.getCallee()));
    return call_unknown(call);
  }
  call.known = &unit_.symbols.known(*call.callee);
  call.model = call.known->model;
  const std::string& name = call.known->callee.qualified;
  if (name == "__cudaPushCallConfiguration" || name == "__hipPushCallConfiguration") return;
  if (call_standard(call) || call_iterator(call)) return;
  call.site = site(expression, name);
  if (name == "std::make_shared") return make_shared(call);
  if (call_algorithm(call)) return;
  if (call.model != nullptr) return apply(call);
  const bool assigns = method != nullptr && (method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator());
  if (assigns && method->isTrivial() && call.arguments.size() == 1) return assign_trivially(call);
  if (dispatches(call)) {
    if (const clang::FunctionDecl* only = unit_.census.only_override(*call.callee)) {
      call.callee = only;
      call.known = &unit_.symbols.known(*only);
      return call_body(call, unit_.usr(*only));
    }
  }
  if (call_launch_helper(call)) return;
  const bool known_body = unit_.census.lowered(*call.callee) != nullptr;
  if (!known_body && !call.callee->hasBody() && reports_only(call)) return call_harmless(call);
  const bool foreign = !call.callee->hasBody() && !call.known->callee.in_system_header && !call.known->harmless;
  if ((known_body || foreign) && !dispatches(call)) return call_body(call, unit_.usr(*call.callee));
  if (call.known->harmless || call.callee->getBuiltinID() != 0) return call_harmless(call);
  call_unknown(call);
}

void Body::assign_trivially(const Call& call) {
  const clang::Expr* given = call.arguments.front();
  if (given->isGLValue()) touch_read(*given, *call.expression);
  if (call.object == ir::kNoPlace) return;
  touch(call.object, ir::Mode::Write, *call.expression);
  assign(call.object, given);
  set_result(call, value(call.object), call.object);
}

bool Body::dispatches(const Call& call) const {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(call.callee);
  if (method == nullptr || !method->isVirtual() || call.exact) return false;
  if (method->hasAttr<clang::FinalAttr>() || method->getParent()->isEffectivelyFinal()) return false;
  const auto* written = llvm::dyn_cast<clang::CXXMemberCallExpr>(call.expression);
  const auto* member =
      written == nullptr ? nullptr : llvm::dyn_cast<clang::MemberExpr>(written->getCallee()->IgnoreParens());
  return member == nullptr || !member->hasQualifier();
}

void Body::call_body(const Call& call, const std::string& usr) {
  ir::Op op = start(OpKind::Call, call);
  op.callee = usr;
  op.name = unit_.symbols.shown(*call.callee);
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const bool known = i < call.callee->getNumParams();
    const bool by_reference =
        known && call.callee->getParamDecl(static_cast<unsigned>(i))->getType()->isReferenceType();
    op.arguments.push_back(argument_operand(call.arguments[i], by_reference));
    if (known && llvm::isa<clang::CXXDefaultArgExpr>(call.arguments[i]) &&
        kind(call.arguments[i]->getType()) == TypeKind::Stream) {
      op.implicit_stream = true;
      op.stream = {.kind = Operand::Kind::DefaultStream};
      if (const auto* written = llvm::dyn_cast<clang::CallExpr>(call.expression))
        unit_.sites.add_stream_slot(function_.sites[static_cast<std::size_t>(call.site)], *written,
                                    static_cast<unsigned>(i));
    }
  }
  if (call.object != ir::kNoPlace) {
    op.object = address(call.object);
  } else if (call.object_expression != nullptr) {
    op.object = unknown();
  }
  const clang::QualType type = call.callee->getReturnType();
  if (call.expression != nullptr && !llvm::isa<clang::CXXConstructExpr>(call.expression)) {
    if (type->isReferenceType()) {
      if (kind(type) != TypeKind::Other || type->isReferenceType()) {
        op.target = temporary(TypeKind::Pointer);
        const ir::PlaceId referent = pointee(value(op.target), type.getNonReferenceType());
        set_result(call, value(referent), referent);
      }
    } else if (kind(type) == TypeKind::Integer) {
      op.target = temporary(TypeKind::Integer, source_text(call.expression));
      set_result(call, value(op.target), op.target);
    } else if (!type->isVoidType() && kind(type) != TypeKind::Other) {
      op.target = result_place(call);
    }
  }
  emit(std::move(op));
}

void Body::escape_arguments(const Call& call) {
  const auto escape = [&](const Operand& given) {
    if (given.kind != Operand::Kind::Value && given.kind != Operand::Kind::Address) return;
    emit({.kind = OpKind::Escape, .site = call.site, .source = given});
  };
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const clang::Expr* given = call.arguments[i];
    const bool known = call.callee != nullptr && i < call.callee->getNumParams();
    const bool by_reference =
        known ? call.callee->getParamDecl(static_cast<unsigned>(i))->getType()->isReferenceType() : given->isGLValue();
    const TypeKind of = kind(given->getType());
    if (of == TypeKind::Other && !by_reference) continue;
    if (of == TypeKind::Integer && !by_reference) continue;
    escape(argument_operand(given, by_reference));
    if (by_reference) {
      const ir::PlaceId referent = place(given);
      if (kind(referent) == TypeKind::Integer) emit_fresh(referent, call.site);
    }
  }
  if (call.object != ir::kNoPlace) escape(address(call.object));
}

void Body::call_unknown(const Call& call) {
  escape_arguments(call);
  ir::Op op = start(OpKind::MaySync, call);
  emit(std::move(op));
  const clang::QualType type = call.callee != nullptr ? call.callee->getReturnType() : call.expression->getType();
  if (type->isReferenceType()) {
    const ir::PlaceId pointer = temporary(TypeKind::Pointer);
    emit_fresh(pointer, call.site);
    const ir::PlaceId referent = pointee(value(pointer), type.getNonReferenceType());
    set_result(call, value(referent), referent);
  } else if (!llvm::isa<clang::CXXConstructExpr>(call.expression) && kind(type) != TypeKind::Other &&
             kind(type) != TypeKind::Integer) {
    const ir::PlaceId made = result_place(call);
    emit_fresh(made, call.site);
    // What a handle is may follow from who gave it.
    auto& ops = function_.blocks[block_].ops;
    if (call.known != nullptr && !ops.empty() && ops.back().target == made)
      ops.back().name = call.known->callee.qualified;
  }
}

void Body::fresh_arguments(const Call& call) {
  for (std::size_t i = 0; i < call.arguments.size() && i < call.callee->getNumParams(); ++i) {
    const clang::QualType parameter = call.callee->getParamDecl(static_cast<unsigned>(i))->getType();
    const bool writes =
        (parameter->isReferenceType() || parameter->isPointerType()) && !parameter->getPointeeType().isConstQualified();
    if (!writes || parameter->isRValueReferenceType()) continue;
    const clang::Expr* at = strip(call.arguments[i]);
    const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at);
    const bool named = unary != nullptr && unary->getOpcode() == clang::UO_AddrOf;
    if (parameter->isPointerType() && !named) continue;
    const ir::PlaceId target = place(named ? unary->getSubExpr() : at);
    if (target == ir::kNoPlace) continue;
    const TypeKind of = kind(target);
    if (of == TypeKind::Integer || of == TypeKind::Pointer) emit_fresh(target, call.site);
  }
}

void Body::hand_over_moved(const Call& call) {
  for (std::size_t i = 0; i < call.arguments.size() && i < call.callee->getNumParams(); ++i) {
    const clang::QualType parameter = call.callee->getParamDecl(static_cast<unsigned>(i))->getType();
    const clang::Expr* given = call.arguments[i];
    const bool moved = parameter->isRValueReferenceType() && given->isXValue();
    if (!moved || kind(given->getType()) != TypeKind::Object) continue;
    if (const ir::PlaceId from = place(given); from != ir::kNoPlace)
      emit({.kind = OpKind::Escape, .site = call.site, .source = address(from)});
  }
}

bool Body::reports_only(const Call& call) const {
  if (call.callee == nullptr || call.object_expression != nullptr || call.arguments.empty()) return false;
  if (ir::may_wait(call.known->callee.name) || !ir::reports(call.known->callee.name)) return false;
  if (!call.callee->getReturnType()->isVoidType() && !call.callee->isNoReturn()) return false;
  bool text = false;
  for (const clang::Expr* given : call.arguments) {
    const clang::Expr* at = strip(given);
    text = text || llvm::isa<clang::StringLiteral, clang::PredefinedExpr>(at);
    const bool plain = given->getType()->isArithmeticType() || given->getType()->isEnumeralType();
    if (!plain && !llvm::isa<clang::StringLiteral, clang::PredefinedExpr>(at)) return false;
  }
  return text;
}

void Body::call_harmless(const Call& call) {
  for (const clang::Expr* given : call.arguments)
    if (const clang::FunctionDecl* body = closure_body(given); body != nullptr && unit_.census.is_root(*body))
      return call_unknown(call);
  fresh_arguments(call);
  hand_over_moved(call);
  const clang::QualType type = call.callee->getReturnType();
  if (llvm::isa<clang::CXXConstructExpr>(call.expression) || type->isVoidType()) return;
  const TypeKind of = kind(type);
  if (of == TypeKind::Other || of == TypeKind::Integer) return;
  if (type->isReferenceType()) {
    const ir::PlaceId pointer = temporary(TypeKind::Pointer);
    emit_fresh(pointer, call.site);
    const ir::PlaceId referent = pointee(value(pointer), type.getNonReferenceType());
    return set_result(call, value(referent), referent);
  }
  emit_fresh(result_place(call), call.site);
}

}  // namespace streamsan::analyzer::host
