// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::pair and std::tuple; see host_tuples.cpp.
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
class Tensors;
class Values;
struct Parts;
struct Unit;

class Tuples {
 public:
  explicit Tuples(const Parts& parts);

  /// Lowers the call if it makes, assigns or reads a tuple, and says if it was one.
  bool apply(const Call& call);
  /// Lowers the construction of `call.object`, if that is a tuple.
  bool construct(const Call& call);
  /// Ends the elements, if it is a tuple, and says if it was one.
  bool destroy(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable);

  /// The types of the elements; none: it is no tuple.
  [[nodiscard]] llvm::SmallVector<clang::QualType, 4> elements(clang::QualType type) const;
  /// The element itself.
  ir::PlaceId element(ir::PlaceId tuple, clang::QualType type, unsigned number);
  /// Copies or moves what an object holds to another one. `from`: kNoPlace: it is not known. `assigned`: the target
  /// held something before.
  void fill(ir::PlaceId to, ir::PlaceId from, clang::QualType type, bool moves, bool assigned, ir::SiteId site);

 private:
  /// Where element `number` is kept: a pointer, if it is a reference.
  ir::PlaceId slot(ir::PlaceId tuple, clang::QualType type, unsigned number);
  bool get(const Call& call);
  /// Puts `given` into the element, which holds nothing yet.
  void put(ir::PlaceId tuple, clang::QualType type, unsigned number, const clang::Expr& given, ir::SiteId site);
  void put_all(ir::PlaceId tuple, clang::QualType type, const Call& call);
  void copy(ir::PlaceId to, clang::QualType to_type, ir::PlaceId from, clang::QualType from_type, bool moves,
            bool assigned, ir::SiteId site);

  Unit& unit_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
  Lifetimes& lifetimes_;
  Tensors& tensors_;
};

}  // namespace streamsan::analyzer::host
