// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a call stands in the file, for reports and for repairs. See sites.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "clang/Basic/SourceLocation.h"

namespace clang {
class ASTContext;
class CallExpr;
class CUDAKernelCallExpr;
class Expr;
class Stmt;
}  // namespace clang

namespace streamsan::analyzer {

class Sites {
 public:
  explicit Sites(const clang::ASTContext& context) : context_(context) {}

  /// `statement` is the statement of a block that `what` is part of, or nullptr.
  [[nodiscard]] ir::Site of(const clang::Stmt& what, const clang::Stmt* statement) const;
  /// A point, as the end of a scope.
  [[nodiscard]] ir::Site at(clang::SourceLocation location) const;

  /// Where the stream of a launch stands or belongs.
  void add_stream_slot(ir::Site& site, const clang::CUDAKernelCallExpr& launch) const;
  /// The same of a call with a defaulted argument `position` for it.
  void add_stream_slot(ir::Site& site, const clang::CallExpr& call, unsigned position) const;

  /// True if the code at the location stands in a file, and was not made by the body of a macro.
  [[nodiscard]] bool written(clang::SourceLocation location) const;

 private:
  /// Where it was written: arguments of macros stand where the macro is used, bodies at the macro's use.
  [[nodiscard]] clang::SourceLocation in_file(clang::SourceLocation location, bool* in_macro = nullptr) const;
  void set_place(ir::Site& site, clang::SourceLocation location) const;
  void set_stream(ir::Site& site, const clang::Expr& written) const;

  const clang::ASTContext& context_;
};

}  // namespace streamsan::analyzer
