// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See called_model.h.
#include "analyzer/lowering/called_model.h"

#include "analyzer/models/model.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer {

const Model* called_model(const Models& models, const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  // In a template, where the arguments have no types yet: the only function of that name.
  if (const auto* named = llvm::dyn_cast<clang::UnresolvedLookupExpr>(call.getCallee());
      named != nullptr && named->getNumDecls() == 1)
    callee = llvm::dyn_cast<clang::FunctionDecl>((*named->decls_begin())->getUnderlyingDecl());
  if (callee == nullptr || callee->getIdentifier() == nullptr) return nullptr;
  return models.find({.qualified = callee->getQualifiedNameAsString(),
                      .class_name = {},
                      .name = callee->getNameAsString(),
                      .in_system_header = true,
                      .arguments = call.getNumArgs()});
}

}  // namespace streamsan::analyzer
