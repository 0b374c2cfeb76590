// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Construction and destruction of objects; see host_lifetimes.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"
#include "clang/AST/Type.h"

namespace clang {
class CXXConstructExpr;
class CXXDeleteExpr;
class CXXDestructorDecl;
class CXXNewExpr;
class CXXRecordDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

class Arguments;
class Assignments;
class CallbackCalls;
class Calls;
class Effects;
class Ends;
class FunctionBuilder;
class ModelledCalls;
class Numbers;
class Optionals;
class Places;
class Tensors;
class Touches;
class Tuples;
class Values;
struct Parts;
struct Scan;
struct Unit;

class Lifetimes {
 public:
  explicit Lifetimes(const Parts& parts);

  void construct(const clang::CXXConstructExpr& construction);
  /// What make_unique() and make_shared() make with the arguments of their call.
  void construct_pointee(const Call& call, ir::PlaceId pointer, clang::QualType type);
  /// An object of the class that the arguments of the call are given to.
  void construct_in_place(const Call& call, ir::PlaceId object, clang::QualType type);
  void allocate_new(const clang::CXXNewExpr& allocation);
  void delete_object(const clang::CXXDeleteExpr& deletion);
  /// `variable` is the one that goes out of scope, if that is why.
  void destroy(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable = nullptr);
  /// The same of a member of the object whose destructor this is.
  void destroy_member(ir::PlaceId member, const clang::FieldDecl& field, ir::SiteId site);
  /// What `object` holds, if `owner` is a shared pointer that nobody shares; else false.
  bool destroy_shared(const clang::ValueDecl* owner, ir::PlaceId object, ir::SiteId site);
  /// The same of a container, a smart pointer or a tensor.
  void destroy_owner(ir::PlaceId object, clang::QualType type, ir::SiteId site, const clang::VarDecl* variable);

 private:
  bool construct_elements(const clang::CXXConstructExpr& construction);
  /// `seen` is what stands in the source.
  void construct_at(ir::PlaceId target, const clang::CXXConstructExpr& construction,
                    const clang::CXXConstructExpr& seen);
  [[nodiscard]] bool is_of_unit(clang::QualType type) const;
  void call_deleter(const clang::CXXRecordDecl* deleter, ir::PlaceId owner, ir::SiteId site);
  void call_destructor(const clang::CXXDestructorDecl& destructor, ir::PlaceId object, ir::SiteId site);

  Unit& unit_;
  const Scan& scan_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
  Touches& touches_;
  Ends& ends_;
  CallbackCalls& callbacks_;
  Calls& calls_;
  ModelledCalls& modelled_;
  Effects& effects_;
  Tensors& tensors_;
  Tuples& tuples_;
  Optionals& optionals_;
};

}  // namespace streamsan::analyzer::host
