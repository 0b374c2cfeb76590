// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch; see host_tensors.cpp.
#pragma once

#include <utility>

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"
#include "clang/AST/Type.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace streamsan::analyzer::host {

class Arguments;
class FunctionBuilder;
class Libraries;
class Numbers;
class Optionals;
class Places;
class Tuples;
class Values;
struct Parts;
struct Scan;
struct Unit;

class Tensors {
 public:
  explicit Tensors(const Parts& parts);

  void make_current(const Call& call);
  void tensor_make(const Call& call);
  void tensor_work(const Call& call, bool converts = false);
  void tensor_copy(const Call& call);
  /// A view of a tensor, or of a part of one.
  void tensor_view(const Call& call);

  /// `target` has the memory of `from`, too; or has taken it over.
  void share_tensor(ir::PlaceId target, ir::PlaceId from, bool moves, ir::SiteId site);
  void free_tensor(ir::PlaceId tensor, ir::SiteId site);
  /// If `tensor` is a view without a name, the tensor that it is a view of is from now on kept by somebody else, too.
  void keep_lent(ir::PlaceId tensor, ir::SiteId site);
  /// `t = t.view(...)`: the tensor is what it was. False: it is something else.
  bool becomes_view_of_itself(ir::PlaceId tensor, ir::PlaceId view, ir::SiteId site);
  /// The tensors in the object, or the tensor that it is, are from now on kept by somebody else, too.
  void keep(ir::PlaceId object, clang::QualType type, ir::SiteId site);
  /// `element` was put into the list; kNoPlace: which tensor is the last one is not known.
  void put_into(ir::PlaceId list, ir::PlaceId element, ir::SiteId site);
  /// If the place is an element of a list, it may be the last one, and become another tensor.
  void may_change(ir::PlaceId element, ir::SiteId site);
  /// The standard library copies what it is given by name: into containers that are not looked into, for other threads.
  void keep_given(const Call& call);

 private:
  /// The expression is an operation of which a new tensor comes, or a tuple of them.
  [[nodiscard]] bool makes_tensor(const clang::Expr& expression) const;
  /// The tensor that was put into the list last; kNoPlace: it is no list of tensors.
  ir::PlaceId last_of(ir::PlaceId list);
  /// The list that an argument is, or is made from; kNoPlace: it is none.
  ir::PlaceId list_given(const clang::Expr* given);

  using Each = llvm::function_ref<void(ir::PlaceId tensor)>;
  /// The tensor that the object is, those in its fields, and in the fields of these.
  void for_tensors(ir::PlaceId object, clang::QualType type, Each each, int depth = 0);
  void keep_tensor(ir::PlaceId tensor, ir::SiteId site);
  /// A new tensor of the call, on the stream that the call works on.
  void make(ir::PlaceId tensor, const Call& call);
  /// What is made by a call that returns a tuple of new tensors.
  [[nodiscard]] llvm::SmallVector<ir::PlaceId, 4> made_in_tuple(const Call& call);
  [[nodiscard]] ordering::MemoryKind tensor_memory(const Call& call) const;

  /// What a view is a view of, as written and where it is.
  std::pair<const clang::Expr*, ir::PlaceId> viewed(const Call& call, int argument);
  /// The tensor that shares the block of `tensor`, written as `of`, views aside. kNoPlace: none that has a name.
  ir::PlaceId lender(const clang::Expr* of_or_null, ir::PlaceId tensor) const;
  /// `view` has the block of `lender`, if there is one.
  void lend(const Call& call, ir::PlaceId view, ir::PlaceId lender, bool surely);
  /// The call makes a variable that ends before `lender`, and nobody else keeps either of the two.
  [[nodiscard]] bool ends_first(const Call& call, ir::PlaceId lender) const;
  /// The result may be a view of the call's tensor.
  void may_lend(const Call& call, ir::PlaceId result);
  /// std::vector<at::Tensor>
  [[nodiscard]] bool lists_tensors(clang::QualType type) const;

  /// How far a part is from the begin of the whole; kNoExpr: not at all.
  [[nodiscard]] ir::ExprId begin_of_part(const Call& call);

  Unit& unit_;
  const clang::FunctionDecl& definition_;
  const Scan& scan_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Arguments& arguments_;
  Libraries& libraries_;
  Tuples& tuples_;
  Optionals& optionals_;

  struct Lent {
    ir::PlaceId by;
    bool surely;  ///< it is a view; otherwise it may be another tensor
  };
  llvm::DenseMap<ir::PlaceId, Lent> lent_;  ///< by view without a name
};

}  // namespace streamsan::analyzer::host
