// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of facts about declarations share: a source on the mock headers, and what is expected of it.
#pragma once

#include <memory>
#include <ostream>
#include <string>

#include "analyzer/lowering/tests/parse.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"

namespace streamsan::analyzer {

struct Case {
  const char* name;
  const char* source;
  const char* expected;
};
inline void PrintTo(const Case& test, std::ostream* out) { *out << test.name; }

/// nullptr: it does not compile.
inline std::shared_ptr<clang::ASTContext> mock_unit(const std::string& source, const char* name) {
  auto unit = parse(source,
                    {"-x", "cuda", "--cuda-host-only", "-nocudainc", "-nocudalib", "-std=c++17",
                     "-Wno-unknown-cuda-version", "-isystem", STREAMSAN_MOCK_HEADERS},
                    name);
  return unit == nullptr || unit->getDiagnostics().hasErrorOccurred() ? nullptr : unit;
}

/// The kernel `k`: a plain function, or the only instantiation of a template. nullptr: there is none.
inline const clang::FunctionDecl* kernel_of(clang::ASTContext& unit) {
  struct Find : clang::DynamicRecursiveASTVisitor {
    Find() { ShouldVisitTemplateInstantiations = true; }
    bool VisitFunctionDecl(clang::FunctionDecl* function) override {
      if (function->getNameAsString() == "k" && !function->isDependentContext()) kernel = function;
      return true;
    }
    clang::FunctionDecl* kernel = nullptr;
  };
  Find find;
  find.TraverseDecl(unit.getTranslationUnitDecl());
  return find.kernel;
}

}  // namespace streamsan::analyzer
