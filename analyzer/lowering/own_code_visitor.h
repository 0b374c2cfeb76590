// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A visitor of the host code that a translation unit brings itself: no system headers, instantiations in place of
// templates, the bodies of lambdas. It knows the function that it is in. Functions that run on the GPU alone are left
// out: they have no streams of the host's, and neither containers nor shared pointers; a file with hundreds of
// instances of a kernel consists of little else.
#pragma once

#include <utility>

#include "analyzer/lowering/symbols.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer {

class OwnCodeVisitor : public clang::DynamicRecursiveASTVisitor {
  using Base = clang::DynamicRecursiveASTVisitor;

 public:
  explicit OwnCodeVisitor(Symbols& symbols) : symbols_(symbols) { ShouldVisitTemplateInstantiations = true; }

  // Clang's names.
  bool TraverseDecl(clang::Decl* declaration) override {
    if (declaration == nullptr) return true;
    if (declaration->getLocation().isValid() && symbols_.in_system_header(*declaration)) return true;
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (function == nullptr) return Base::TraverseDecl(declaration);
    if (function->isDependentContext() || runs_on_device_only(*function)) return true;
    return in_function(*function, [&] { return Base::TraverseDecl(declaration); });
  }
  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) override {
    const clang::CXXMethodDecl* body = lambda->getCallOperator();
    if (body == nullptr || body->isDependentContext() || runs_on_device_only(*body)) return true;
    return in_function(*body, [&] { return Base::TraverseLambdaExpr(lambda); });
  }

 protected:
  Symbols& symbols_;
  const clang::FunctionDecl* function_ = nullptr;  ///< none: outside of functions

 private:
  template <typename Go>
  bool in_function(const clang::FunctionDecl& function, Go go) {
    const clang::FunctionDecl* outer = std::exchange(function_, &function);
    const bool go_on = go();
    function_ = outer;
    return go_on;
  }
};

}  // namespace streamsan::analyzer
