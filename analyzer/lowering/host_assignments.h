// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that move into places: initialisation, assignment, copies of objects, c ? a : b, what a lambda captures.
#pragma once

#include "analyzer/ir/ir.h"
#include "clang/AST/Type.h"
#include "llvm/ADT/DenseMap.h"

namespace clang {
class Expr;
class InitListExpr;
class LambdaExpr;
}  // namespace clang

namespace streamsan::analyzer::host {

class FunctionBuilder;
class Numbers;
class Places;
class Tensors;
class Values;
struct Parts;
struct Scan;
struct Unit;

class Assignments {
 public:
  explicit Assignments(const Parts& parts);

  void assign(ir::PlaceId target, const clang::Expr* value);
  /// The same, and a target that is a reference is bound.
  void initialize(ir::PlaceId target, const clang::Expr* value);
  void initialize_parts(ir::PlaceId target, const clang::InitListExpr& list);
  void copy_object(ir::PlaceId target, ir::PlaceId source, clang::QualType type);
  /// What is declared in this class or in one that it derives from.
  void copy_fields(ir::PlaceId target, ir::PlaceId source, const clang::CXXRecordDecl& of);
  /// Leaves nothing behind that somebody owns.
  void move_object(ir::PlaceId target, ir::PlaceId source, clang::QualType type, ir::SiteId site);
  void swap(ir::PlaceId left, ir::PlaceId right, ir::SiteId site);
  /// One of the two results of c ? a : b was evaluated: it is what the whole is worth.
  void choose(const clang::Expr& branch);
  void make_closure(const clang::LambdaExpr& lambda);

 private:
  /// `target` takes over what `source`, an object that is no tensor, holds, whoever else holds it.
  void take_over(ir::PlaceId target, ir::PlaceId source, clang::QualType type);
  /// `(slot + 1) % 3`, `slot + 1`, `1 - slot`: what comes next where slots are used in turn.
  std::optional<ir::Expr> slot_step(ir::PlaceId target, const clang::Expr* source);

  Unit& unit_;
  const Scan& scan_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Tensors& tensors_;

  llvm::DenseMap<const clang::Expr*, ir::PlaceId> choices_;  ///< c ? a : b: where the chosen one is put
};

}  // namespace streamsan::analyzer::host
