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
// derived from it; else by the only override that there is, if there is but one; else by that of the only class that
// does something on the device. What is found in there is not certain then (Site::by_class).
#include "analyzer/lowering/host_calls.h"

#include "analyzer/ir/naming.h"
#include "analyzer/lowering/host_algorithms.h"
#include "analyzer/lowering/host_arguments.h"
#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_callables.h"
#include "analyzer/lowering/host_containers.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_launches.h"
#include "analyzer/lowering/host_maps.h"
#include "analyzer/lowering/host_models.h"
#include "analyzer/lowering/host_optionals.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_scan.h"
#include "analyzer/lowering/host_standard.h"
#include "analyzer/lowering/host_tasks.h"
#include "analyzer/lowering/host_tensors.h"
#include "analyzer/lowering/host_touches.h"
#include "analyzer/lowering/host_tuples.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "analyzer/lowering/map_keys.h"
#include "analyzer/models/host_calls.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;

Calls::Calls(const Parts& parts)
    : unit_(parts.unit),
      scan_(parts.scan),
      out_(parts.out),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments),
      touches_(parts.touches),
      arguments_(parts.arguments),
      algorithms_(parts.algorithms),
      standard_(parts.standard),
      modelled_(parts.modelled),
      launches_(parts.launches),
      containers_(parts.containers),
      tensors_(parts.tensors),
      tuples_(parts.tuples),
      optionals_(parts.optionals),
      maps_(parts.maps),
      map_keys_(parts.map_keys),
      callbacks_(parts.callbacks),
      tasks_(parts.tasks) {}

void Calls::lower(const clang::Expr& expression) {
  if (const auto* kernel_launch = llvm::dyn_cast<clang::CUDAKernelCallExpr>(&expression))
    return launches_.launch(*kernel_launch);
  const auto& written = llvm::cast<clang::CallExpr>(expression);
  Call call;
  call.expression = &expression;
  call.dropped = scan_.dropped.contains(&expression);
  call.callee = written.getDirectCallee();
  if (call.callee != nullptr && call.callee->getBuiltinID() != 0 && call.callee->getName().starts_with("__builtin_") &&
      !call.callee->getName().contains("mem"))
    return;
  take_arguments(call);
  callbacks_.redirect(call);
  // A launch's configuration is read with the launch.
  if (call.callee == nullptr) {
    call.site = out_.site(expression, source_text(written.getCallee(), unit_.context));
    return call_unknown(call);
  }
  call.known = &unit_.symbols.known(*call.callee);
  call.model = call.known->model;
  const std::string& name = call.known->callee.qualified;
  if (host_call(name) == HostCall::PushConfiguration) return;
  if (standard_.moves_value(call) || standard_.steps_iterator(call)) return;
  call.site = out_.site(expression, name, call.model == nullptr ? ir::Api::None : call.model->of_api);
  touch_read_by_reference(call);
  if (unit_.census.asks_kind(*call.callee)) {
    for (const clang::Expr* argument : call.arguments)
      if (unit_.symbols.kind(argument->getType()) == ir::TypeKind::Pointer)
        if (const ir::PlaceId pointer = places_.place(argument->IgnoreParenCasts()); pointer != ir::kNoPlace)
          out_.ask_kind(pointer);
  }
  if (tasks_.apply(call) || tuples_.apply(call) || optionals_.apply(call)) return;
  tensors_.keep_given(call);
  if (maps_.apply(call) || callbacks_.apply(call)) return;
  if (name == "std::make_shared") return containers_.make_shared(call);
  if (standard_.runs_algorithm(call)) return;
  // Library code keeps it, and may run it whenever it likes.
  if ((call.model != nullptr || call.known->harmless) && callbacks_.given(call)) return call_unknown(call);
  if (call.model != nullptr) return modelled_.apply(call);
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(call.callee);
  const bool assigns = method != nullptr && (method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator());
  if (assigns && method->isTrivial() && call.arguments.size() == 1) return assign_trivially(call);
  if (dispatches(call)) {
    if (const clang::FunctionDecl* only = unit_.census.only_override(*call.callee)) {
      out_.site_of(call.site).by_class = unit_.census.may_run_another(*call.callee, *only);
      call.callee = only;
      call.known = &unit_.symbols.known(*only);
      return call_body(call, unit_.usr(*only));
    }
  }
  if (launches_.apply_helper(call)) return;
  const bool known_body = unit_.census.lowered(*call.callee) != nullptr;
  if (!known_body && !call.callee->hasBody() && reports_only(call)) return call_harmless(call);
  const bool foreign = !call.callee->hasBody() && !call.known->callee.in_system_header && !call.known->harmless;
  if ((known_body || foreign) && !dispatches(call)) return call_body(call, unit_.usr(*call.callee));
  if (call.known->harmless || call.callee->getBuiltinID() != 0) return call_harmless(call);
  call_unknown(call);
}

/// v.push_back(h[i]), std::max(h[0], h[1]): the standard library reads numbers that it is given by reference to const.
void Calls::touch_read_by_reference(const Call& call) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(call.callee);
  if (method != nullptr ? !method->getParent()->isInStdNamespace() : !call.callee->isInStdNamespace()) return;
  const clang::QualType returned = call.callee->getReturnType();
  // Of those that give back what they are given, or something that refers to it, it is not known.
  const bool reads =
      method != nullptr || returned->isVoidType() || returned->isArithmeticType() ||
      (returned->isReferenceType() && call.arguments.size() > 1 && returned.getNonReferenceType()->isArithmeticType());
  if (!reads) return;
  const bool builds =
      method != nullptr && method->getIdentifier() != nullptr && method->getName().starts_with("emplace");
  for (unsigned i = 0; i < call.arguments.size() && i < call.callee->getNumParams(); ++i) {
    const clang::QualType parameter = call.callee->getParamDecl(i)->getType();
    if (!parameter->isReferenceType() || !parameter->getPointeeType()->isArithmeticType()) continue;
    const bool only_read = builds || parameter->getPointeeType().isConstQualified();
    if (only_read && call.arguments[i]->isGLValue()) touches_.touch_read(*call.arguments[i], *call.expression);
  }
}

void Calls::take_arguments(Call& call) {
  const auto& written = llvm::cast<clang::CallExpr>(*call.expression);
  call.arguments.append(written.arg_begin(), written.arg_end());
  const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call.callee);
  if (const auto* member = llvm::dyn_cast<clang::CXXMemberCallExpr>(&written)) {
    call.object_expression = member->getImplicitObjectArgument();
  } else if (llvm::isa<clang::CXXOperatorCallExpr>(written) && method != nullptr && method->isInstance() &&
             !call.arguments.empty()) {
    call.object_expression = call.arguments.front();
    call.arguments.erase(call.arguments.begin());
  }
  if (call.object_expression == nullptr) return;
  const clang::QualType type = call.object_expression->getType();
  if (type->isPointerType()) {
    call.object = places_.pointee(values_.operand(call.object_expression), type->getPointeeType());
  } else {
    call.object = places_.place(call.object_expression);
    const clang::Expr* named = strip(call.object_expression);
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(named);
    // A member object is of the class that it is declared with.
    const auto* part = llvm::dyn_cast<clang::MemberExpr>(named);
    const clang::ValueDecl* declared = reference != nullptr ? reference->getDecl()
                                       : part != nullptr    ? part->getMemberDecl()
                                                            : nullptr;
    call.exact = declared != nullptr ? declared->getType()->isRecordType() : !named->isGLValue();
  }
}

void Calls::assign_trivially(const Call& call) {
  const clang::Expr* given = call.arguments.front();
  if (given->isGLValue()) touches_.touch_read(*given, *call.expression);
  if (call.object == ir::kNoPlace) return;
  touches_.touch(call.object, ir::Mode::Write, *call.expression);
  const clang::CXXRecordDecl* part = llvm::cast<clang::CXXMethodDecl>(call.callee)->getParent();
  const clang::CXXRecordDecl* whole = Symbols::record(out_.type_of(call.object));
  // An object has the place of the part that is of a base class.
  if (const bool of_base = whole != nullptr && whole->hasDefinition() && whole->isDerivedFrom(part); !of_base)
    assignments_.assign(call.object, given);
  else if (const ir::PlaceId from = places_.place(given); from != ir::kNoPlace)
    assignments_.copy_fields(call.object, from, *part);
  values_.set_result(*call.expression, value(call.object), call.object);
}

bool Calls::dispatches(const Call& call) const {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(call.callee);
  if (method == nullptr || !method->isVirtual() || call.exact) return false;
  if (method->hasAttr<clang::FinalAttr>() || method->getParent()->isEffectivelyFinal()) return false;
  const auto* written = llvm::dyn_cast<clang::CXXMemberCallExpr>(call.expression);
  const auto* member =
      written == nullptr ? nullptr : llvm::dyn_cast<clang::MemberExpr>(written->getCallee()->IgnoreParens());
  return member == nullptr || !member->hasQualifier();
}

ir::PlaceId Calls::refer_result(const Call& call, clang::QualType reference) {
  const ir::PlaceId pointer = out_.temporary(TypeKind::Pointer);
  const ir::PlaceId referent = places_.pointee(value(pointer), reference.getNonReferenceType());
  values_.set_result(*call.expression, value(referent), referent);
  return pointer;
}

void Calls::call_body(const Call& call, const std::string& usr) {
  map_keys_.name_words(call);
  ir::Op op = start(OpKind::Call, call);
  op.callee = callbacks_.version(call, usr);
  op.name = unit_.symbols.shown(*call.callee);
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const bool known = i < call.callee->getNumParams();
    op.arguments.push_back(values_.argument_operand(call.arguments[i], call.by_reference(i)));
    const bool takes =
        known && !call.callee->getParamDecl(static_cast<unsigned>(i))->getType()->isLValueReferenceType();
    if (takes && out_.kind(call.arguments[i]->getType()) == TypeKind::Object)
      tensors_.keep_lent(places_.place(call.arguments[i]), call.site);
    if (call.by_reference(i) && call.arguments[i]->isLValue() && !call.arguments[i]->getType().isConstQualified())
      tensors_.may_change(places_.place(call.arguments[i]), call.site);
    if (known && llvm::isa<clang::CXXDefaultArgExpr>(call.arguments[i]) &&
        out_.kind(call.arguments[i]->getType()) == TypeKind::Stream) {
      op.implicit_stream = true;
      op.stream = {.kind = Operand::Kind::DefaultStream};
      if (const auto* written = llvm::dyn_cast<clang::CallExpr>(call.expression))
        unit_.sites.add_stream_slot(out_.site_of(call.site), *written, static_cast<unsigned>(i));
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
      op.target = refer_result(call, type);
    } else if (out_.kind(type) == TypeKind::Integer) {
      op.target = out_.temporary(TypeKind::Integer, source_text(call.expression, unit_.context));
      values_.set_result(*call.expression, value(op.target), op.target);
    } else if (!type->isVoidType() && out_.kind(type) != TypeKind::Other) {
      op.target = values_.result_place(*call.expression);
    }
  }
  out_.emit(std::move(op));
}

void Calls::call_unknown(const Call& call) {
  arguments_.escape(call);
  out_.emit(start(OpKind::MaySync, call));
  const clang::QualType type = call.callee != nullptr ? call.callee->getReturnType() : call.expression->getType();
  if (type->isReferenceType()) {
    out_.emit_fresh(refer_result(call, type), call.site);
  } else if (!llvm::isa<clang::CXXConstructExpr>(call.expression) && out_.kind(type) != TypeKind::Other &&
             out_.kind(type) != TypeKind::Integer) {
    const ir::PlaceId made = values_.result_place(*call.expression);
    out_.emit_fresh(made, call.site);
    // What a handle is may follow from who gave it.
    auto& ops = out_.ops();
    if (call.known != nullptr && !ops.empty() && ops.back().target == made)
      ops.back().name = call.known->callee.qualified;
  }
}

bool Calls::reports_only(const Call& call) const {
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

void Calls::call_harmless(const Call& call) {
  for (const clang::Expr* given : call.arguments)
    if (const clang::FunctionDecl* body = closure_body(given); body != nullptr && unit_.census.is_root(*body))
      return call_unknown(call);
  if (algorithms_.moves_elements(call)) return;
  arguments_.fresh_arguments(call);
  // Who gives a block back to its pool says where it is (host_free_lists.h).
  if (!unit_.free_lists.givings.contains(call.expression)) arguments_.hand_over_moved(call);
  algorithms_.hand_out(call);
  const clang::QualType type = call.callee->getReturnType();
  if (llvm::isa<clang::CXXConstructExpr>(call.expression) || type->isVoidType()) return;
  const TypeKind of = out_.kind(type);
  if (of == TypeKind::Other || of == TypeKind::Integer) return;
  out_.emit_fresh(type->isReferenceType() ? refer_result(call, type) : values_.result_place(*call.expression),
                  call.site);
}

}  // namespace streamsan::analyzer::host
