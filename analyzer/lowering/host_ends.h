// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of host memory: of variables with their scope, of temporaries with their statement. Keeps the temporaries of
// the call at hand that die with its statement.
//
// It is lowered where it can matter, for variables whose address was taken, and not for those of main(): when they end
// the process does.
#pragma once

#include <vector>

#include "analyzer/ir/ir.h"

namespace clang {
class Expr;
class FunctionDecl;
class Stmt;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

class FunctionBuilder;
class Places;
class Values;
struct Parts;
struct Scan;
struct Unit;

class Ends {
 public:
  explicit Ends(const Parts& parts);

  void end_of_life(const ir::Operand& memory, const char* how, ir::SiteId site);
  void end_of_scope(const clang::VarDecl& variable, const clang::Stmt* trigger);
  /// Where a scope is left; without a trigger, the function.
  ir::SiteId scope_end(const clang::Stmt* trigger);
  /// Where the function ends; kNoSite: its body is the compiler's, and what it does is done where it is called.
  ir::SiteId body_end();
  /// The same place, as the variable's end.
  ir::SiteId end_of(const clang::VarDecl* variable_or_null, ir::SiteId scope_end);

  /// The memory of a value that an argument is bound to: that of a variable, or of a temporary that dies.
  ir::Operand dying(const clang::Expr* value);
  /// The statement of the call is over.
  void end_dying(ir::SiteId site);

 private:
  Unit& unit_;
  const clang::FunctionDecl& definition_;
  const Scan& scan_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;

  std::vector<ir::PlaceId> dying_;
};

}  // namespace streamsan::analyzer::host
