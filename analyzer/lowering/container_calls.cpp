// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of containers: which method does what, which container is meant, what a pair is made of.
//
// Methods are known by their names, whichever container has them. What is not known is left out: errs towards silence.
#include "analyzer/lowering/container_calls.h"

#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/symbols.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSwitch.h"

namespace streamsan::analyzer {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using host::strip;

ListEnd end_put_at(llvm::StringRef method) {
  return llvm::StringSwitch<ListEnd>(method)
      .Cases({"push_back", "emplace_back", "push"}, ListEnd::Back)
      .Cases({"push_front", "emplace_front"}, ListEnd::Front)
      .Cases({"emplace", "insert"}, ListEnd::ByKey)
      .Default(ListEnd::None);
}

ListEnd end_taken_at(llvm::StringRef method) {
  return llvm::StringSwitch<ListEnd>(method)
      .Cases({"back", "top"}, ListEnd::Back)
      .Case("front", ListEnd::Front)
      .Default(ListEnd::None);
}

bool takes_out(llvm::StringRef method) {
  return llvm::StringSwitch<bool>(method)
      .Cases({"pop_back", "pop_front", "pop", "erase", "extract"}, true)
      .Default(false);
}

bool finds(llvm::StringRef method) {
  return finds_by_key(method) || llvm::StringSwitch<bool>(method).Cases({"begin", "rbegin"}, true).Default(false);
}

bool finds_by_key(llvm::StringRef method) {
  return llvm::StringSwitch<bool>(method).Cases({"find", "lower_bound", "upper_bound", "extract"}, true).Default(false);
}

const clang::CXXMemberCallExpr* method_call(const clang::Expr* expression, llvm::StringRef* name) {
  const auto* call = dyn_cast_or_null<clang::CXXMemberCallExpr>(expression);
  const clang::CXXMethodDecl* method = call == nullptr ? nullptr : call->getMethodDecl();
  if (method == nullptr || method->getIdentifier() == nullptr) return nullptr;
  *name = method->getName();
  return call;
}

const clang::Expr* unwrapped(const clang::Expr* expression) {
  for (;;) {
    expression = strip(expression);
    const auto* call = dyn_cast_or_null<clang::CallExpr>(expression);
    const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
    if (callee == nullptr || !callee->isInStdNamespace() || callee->getIdentifier() == nullptr) return expression;
    if (callee->getName() != "move" && callee->getName() != "forward" && callee->getName() != "exchange")
      return expression;
    expression = call->getArg(0);
  }
}

llvm::ArrayRef<const clang::Expr*> parts_of(const clang::Expr* const& given) {
  constexpr unsigned kDeepest = 4;
  llvm::ArrayRef<const clang::Expr*> parts(given);
  for (unsigned depth = 0; parts.size() == 1 && parts[0] != nullptr && depth < kDeepest; ++depth) {
    const clang::Expr* at = unwrapped(parts[0]);
    const auto some = [](auto* first, unsigned count) { return llvm::ArrayRef<const clang::Expr*>(first, count); };
    if (const auto* list = dyn_cast<clang::InitListExpr>(at)) {
      if (list->getNumInits() != 1 && list->getNumInits() != 2) break;
      parts = some(list->getInits(), list->getNumInits());
    } else if (const auto* made = dyn_cast<clang::CXXConstructExpr>(at)) {
      if (made->getNumArgs() != 1 && made->getNumArgs() != 2) break;
      parts = some(made->getArgs(), made->getNumArgs());
    } else {
      const auto* call = dyn_cast<clang::CallExpr>(at);
      const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
      if (callee == nullptr || callee->getIdentifier() == nullptr || callee->getName() != "make_pair" ||
          call->getNumArgs() != 2)
        break;
      parts = some(call->getArgs(), 2);
    }
  }
  return parts;
}

namespace {

bool is_of_std(clang::QualType type) {
  const clang::CXXRecordDecl* record = Symbols::record(type);
  return record != nullptr && record->isInStdNamespace();
}

}  // namespace

Named named_container(const clang::Expr* expression) {
  Named named;
  // A reference may be initialised by itself.
  llvm::SmallPtrSet<const clang::VarDecl*, 4> followed;
  for (;;) {
    expression = expression == nullptr ? nullptr : strip(expression);
    const clang::ValueDecl* declared = nullptr;
    if (const auto* member = dyn_cast_or_null<clang::MemberExpr>(expression)) {
      declared = member->getMemberDecl();
    } else if (const auto* name = dyn_cast_or_null<clang::DeclRefExpr>(expression)) {
      declared = name->getDecl();
    } else if (const auto* index = dyn_cast_or_null<clang::CXXOperatorCallExpr>(expression)) {
      if (index->getOperator() != clang::OO_Subscript) return {};
      expression = index->getArg(0);
      continue;
    }
    if (declared == nullptr || !is_of_std(declared->getType())) return {};
    const auto* variable = dyn_cast<clang::VarDecl>(declared);
    if (variable == nullptr || variable->hasGlobalStorage()) {
      if (variable == nullptr && !llvm::isa<clang::FieldDecl>(declared)) return {};
      named.container = llvm::cast<clang::ValueDecl>(declared->getCanonicalDecl());
      return named;
    }
    if (!variable->getType()->isReferenceType() || !variable->hasInit() || !followed.insert(variable).second) return {};
    if (named.through == nullptr) named.through = variable;
    expression = variable->getInit();
  }
}

bool is_sorted_queue(const clang::ValueDecl& container) {
  clang::QualType type = container.getType().getNonReferenceType();
  // An array or a list of them.
  while (const clang::ArrayType* array = type->getAsArrayTypeUnsafe()) type = array->getElementType();
  const clang::CXXRecordDecl* record = Symbols::record(type);
  return record != nullptr && record->isInStdNamespace() && record->getIdentifier() != nullptr &&
         record->getName() == "priority_queue";
}

}  // namespace streamsan::analyzer
