// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::optional; see host_optionals.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"
#include "clang/AST/Type.h"

namespace clang {
class VarDecl;
}

namespace streamsan::analyzer::host {

class Assignments;
class FunctionBuilder;
class Lifetimes;
class Places;
class Tuples;
class Values;
struct Parts;
struct Unit;

class Optionals {
 public:
  explicit Optionals(const Parts& parts);

  /// Lowers the call if it fills, empties or reads an optional, and says if it was one.
  bool apply(const Call& call);
  /// Lowers the construction of `call.object`, if that is an optional.
  bool construct(const Call& call);
  /// Ends what it holds, if it is an optional, and says if it was one.
  bool destroy(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable);

  /// What it holds; null, kNoPlace: it is no optional.
  [[nodiscard]] clang::QualType held_type(clang::QualType type) const;
  ir::PlaceId held(ir::PlaceId optional, clang::QualType type);

 private:
  void fill(const Call& call, clang::QualType type, const clang::Expr& given);
  void empty(const Call& call, ir::PlaceId held, clang::QualType of);

  Unit& unit_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
  Lifetimes& lifetimes_;
  Tuples& tuples_;
};

}  // namespace streamsan::analyzer::host
