// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks of other host threads, whose values come back through futures.
//
//   jobs.push_back(std::async(std::launch::async, run_worker, object, n));
//   ...
//   catalogue.absorb(job.get());
//
// A task is lowered as a call where it is started: there its work is enqueued, and whatever the task waits for has been
// waited for when its value is there. The value is kept in the future, like that of a std::optional. So get() orders
// what the task itself has waited for, and nothing of what it only enqueued.
//
// In truth the task runs at any time between its start and get(). What the starter does in the meantime is put behind
// the task: a race of the two threads is not looked for here. Where a future may come from elsewhere, the other thread
// may have waited for anything before get() returns.
#include "analyzer/lowering/host_tasks.h"

#include "analyzer/lowering/census.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/host_optionals.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_standard.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

using ir::Operand;
using ir::OpKind;
using ir::TypeKind;

namespace {

bool is_future(clang::QualType type) {
  const clang::CXXRecordDecl* record = Symbols::record(type.getNonReferenceType());
  return record != nullptr && record->isInStdNamespace() && record->getIdentifier() != nullptr &&
         (record->getName() == "future" || record->getName() == "shared_future");
}

bool is_async(const clang::FunctionDecl* callee) {
  return callee != nullptr && callee->isInStdNamespace() && callee->getIdentifier() != nullptr &&
         callee->getName() == "async";
}

/// Its arguments: the first one may say how it is to be run.
llvm::ArrayRef<const clang::Expr*> without_policy(llvm::ArrayRef<const clang::Expr*> arguments) {
  const bool policy = !arguments.empty() && arguments.front()->getType()->isEnumeralType();
  return arguments.drop_front(policy ? 1 : 0);
}

/// std::ref(x) is x.
const clang::Expr* referred(const clang::Expr* argument) {
  const auto* call = llvm::dyn_cast<clang::CallExpr>(strip(argument));
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  const bool refers = callee != nullptr && callee->isInStdNamespace() && callee->getIdentifier() != nullptr &&
                      (callee->getName() == "ref" || callee->getName() == "cref") && call->getNumArgs() == 1;
  return refers ? call->getArg(0) : argument;
}

template <typename Visit>
void visit_calls(const clang::Stmt* statement, const Visit& visit) {
  if (statement == nullptr) return;
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(statement)) visit(*call);
  for (const clang::Stmt* child : statement->children()) visit_calls(child, visit);
}

}  // namespace

Tasks::Tasks(const Parts& parts)
    : unit_(parts.unit),
      definition_(parts.definition),
      out_(parts.out),
      places_(parts.places),
      values_(parts.values),
      optionals_(parts.optionals) {}

const clang::FunctionDecl* Tasks::task_of(const clang::Expr& callable) const {
  const clang::FunctionDecl* task = closure_body(&callable);
  if (task == nullptr) {
    const clang::Expr* at = strip(&callable);
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at); unary && unary->getOpcode() == clang::UO_AddrOf)
      at = strip(unary->getSubExpr());
    const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(at);
    task = named == nullptr ? nullptr : llvm::dyn_cast<clang::FunctionDecl>(named->getDecl());
  }
  return task == nullptr || llvm::isa<clang::CXXConversionDecl>(task) ? nullptr : unit_.census.lowered(*task);
}

bool Tasks::apply(const Call& call) {
  if (is_async(call.callee)) return start_task(call);
  if (call.object_expression == nullptr || call.callee->getIdentifier() == nullptr ||
      !is_future(call.object_expression->getType()))
    return false;
  const llvm::StringRef name = call.callee->getName();
  if (name == "valid") return true;
  const bool waits = name.starts_with("wait");
  if (!waits && name != "get") return false;
  if (!only_known_tasks(*call.object_expression)) out_.emit(start(OpKind::MaySync, call));
  if (waits) return true;
  const ir::PlaceId inside = optionals_.held(call.object, call.object_expression->getType());
  if (inside != ir::kNoPlace && !call.expression->getType()->isVoidType())
    values_.set_result(*call.expression, value(inside), inside);
  return true;
}

bool Tasks::start_task(const Call& call) {
  const llvm::ArrayRef<const clang::Expr*> given = without_policy(call.arguments);
  const clang::FunctionDecl* task = given.empty() ? nullptr : task_of(*given.front());
  if (task == nullptr) return false;
  llvm::ArrayRef<const clang::Expr*> arguments = given.drop_front();
  ir::Op op = start(OpKind::Call, call);
  op.callee = unit_.usr(*task);
  op.name = unit_.symbols.shown(*task);
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(task);
  if (method != nullptr && method->getParent()->isLambda()) {
    const ir::PlaceId closure = places_.place(given.front());
    op.object = closure == ir::kNoPlace ? unknown() : address(closure);
  } else if (method != nullptr && method->isInstance()) {
    if (arguments.empty() || method->isVirtual()) return false;
    const clang::Expr* object = referred(arguments.front());
    arguments = arguments.drop_front();
    const clang::QualType type = object->getType();
    const ir::PlaceId of = type->isPointerType() ? places_.pointee(values_.operand(object), type->getPointeeType())
                                                 : places_.place(object);
    op.object = of == ir::kNoPlace ? unknown() : address(of);
  }
  if (arguments.size() != task->getNumParams()) return false;
  for (unsigned i = 0; i < arguments.size(); ++i)
    op.arguments.push_back(
        values_.argument_operand(referred(arguments[i]), task->getParamDecl(i)->getType()->isReferenceType()));
  const ir::PlaceId future = values_.result_place(*call.expression);
  if (!task->getReturnType()->isVoidType() && !task->getReturnType()->isReferenceType() && future != ir::kNoPlace)
    op.target = optionals_.held(future, call.expression->getType());
  out_.emit(std::move(op));
  return true;
}

bool Tasks::only_known_tasks(const clang::Expr& future) {
  // Of a list it is the list's: only what the function itself has is in sight.
  const clang::Expr* at = strip(&future);
  while (const auto* call = llvm::dyn_cast<clang::CallExpr>(at)) {
    const auto* member = llvm::dyn_cast<clang::CXXMemberCallExpr>(call);
    const clang::Expr* of = member != nullptr         ? member->getImplicitObjectArgument()
                            : call->getNumArgs() != 0 ? call->getArg(0)
                                                      : nullptr;
    if (of == nullptr) return false;
    at = strip(of);
  }
  const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(at);
  const auto* variable = named == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(named->getDecl());
  if (variable == nullptr || !variable->isLocalVarDecl() || !variable->hasLocalStorage()) return false;
  if (!known_) {
    bool started = false, others = false;
    visit_calls(definition_.getBody(), [&](const clang::CallExpr& call) {
      const clang::FunctionDecl* callee = call.getDirectCallee();
      if (is_async(callee)) {
        const llvm::ArrayRef<const clang::Expr*> all(call.getArgs(), call.getNumArgs());
        const llvm::ArrayRef<const clang::Expr*> given = without_policy(all);
        (given.empty() || task_of(*given.front()) == nullptr ? others : started) = true;
      } else if (is_future(call.getType()) && call.isPRValue()) {
        others = true;
      }
    });
    known_ = started && !others;
  }
  return *known_;
}

}  // namespace streamsan::analyzer::host
