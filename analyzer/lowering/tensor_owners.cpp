// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables whose tensor has no other owner by them.
//
//   at::Tensor rows = ids.contiguous();
//
// has the block of `ids`, or one of its own. Where `rows` ends before `ids` does, as variables do that are declared
// later, and neither is given to anybody who might keep it, the block of `ids` ends with `ids` in both cases. A use
// that is not known to be harmless keeps it, as does any of a lambda's: errs towards silence.
#include "analyzer/lowering/tensor_owners.h"

#include <algorithm>

#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/symbols.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer {
namespace {

class VariableUses {
 public:
  VariableUses(const clang::VarDecl& variable, Symbols& symbols) : variable_(variable), symbols_(symbols) {}

  [[nodiscard]] bool only_operate(const clang::Stmt* statement) {
    if (statement == nullptr || names(statement)) return statement == nullptr;
    if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(statement))
      return std::ranges::none_of(lambda->captures(), [&](const clang::LambdaCapture& capture) {
        return capture.capturesVariable() && capture.getCapturedVar() == &variable_;
      });
    const auto* call = llvm::dyn_cast<clang::CallExpr>(statement);
    const clang::Expr* object = call == nullptr ? nullptr : object_of(*call);
    return std::ranges::all_of(statement->children(), [&](const clang::Stmt* child) {
      const auto* given = llvm::dyn_cast_or_null<clang::Expr>(child);
      // The callee of a method is a member of its object.
      if (object != nullptr && child == call->getCallee()) return operates(*call, *object) || only_operate(object);
      if (call != nullptr && given != nullptr && child != call->getCallee() && operates(*call, *given)) return true;
      return only_operate(child);
    });
  }

 private:
  [[nodiscard]] bool names(const clang::Stmt* statement) const {
    const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    return name != nullptr && name->getDecl() == &variable_;
  }

  static const clang::Expr* object_of(const clang::CallExpr& call) {
    const auto* member = llvm::dyn_cast<clang::CXXMemberCallExpr>(&call);
    return member == nullptr ? nullptr : member->getImplicitObjectArgument();
  }

  /// `given` is the variable, and the call is an operation that is given it as it is.
  [[nodiscard]] bool operates(const clang::CallExpr& call, const clang::Expr& given) {
    const auto* at = llvm::dyn_cast<clang::DeclRefExpr>(given.IgnoreParenImpCasts());
    if (at == nullptr || at->getDecl() != &variable_) return false;
    const clang::FunctionDecl* callee = call.getDirectCallee();
    if (callee == nullptr || callee->getOverloadedOperator() == clang::OO_Equal) return false;
    const Model* model = symbols_.known(*callee).model;
    return model != nullptr &&
           (model->member == Member::None || model->member == Member::Data || model->member == Member::At);
  }

  const clang::VarDecl& variable_;
  Symbols& symbols_;
};

}  // namespace

bool only_operated_on(const clang::FunctionDecl& function, const clang::VarDecl& variable, Symbols& symbols) {
  return VariableUses(variable, symbols).only_operate(function.getBody());
}

}  // namespace streamsan::analyzer
