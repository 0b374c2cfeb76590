// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which place an expression names. Keeps what the names of the source stand for: variables, references, iterators,
// captures of a lambda, and the place of what the function returns.
#pragma once

#include <optional>

#include "analyzer/ir/ir.h"
#include "clang/AST/Type.h"
#include "llvm/ADT/DenseMap.h"

namespace clang {
class CXXNewExpr;
class Expr;
class FieldDecl;
class FunctionDecl;
class ValueDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

class Assignments;
class FunctionBuilder;
class Numbers;
class Values;
struct Parts;
struct Scan;
struct Unit;

class Places {
 public:
  explicit Places(const Parts& parts);

  /// kNoPlace: it names none that is known, as everywhere here.
  ir::PlaceId place(const clang::Expr* expression);
  /// What this pointer expression points to.
  ir::PlaceId target_of(const clang::Expr* pointer);
  /// What the value of this expression initialises; a temporary if nothing.
  ir::PlaceId destination(const clang::Expr& expression, clang::QualType type);

  // Places by their names.
  ir::PlaceId variable(const clang::ValueDecl& declaration);
  ir::PlaceId this_place();
  ir::PlaceId current_stream();
  /// What the function returns; made when it is first asked for.
  ir::PlaceId returned();
  /// The same, kNoPlace while nobody has asked.
  [[nodiscard]] ir::PlaceId returned_if_any() const { return returned_; }

  // Parts of other places.
  ir::PlaceId member(ir::PlaceId base, const clang::ValueDecl& field);
  ir::PlaceId closure_field(ir::PlaceId closure, const clang::ValueDecl& variable, bool reference);
  ir::PlaceId element(ir::PlaceId base, ir::ExprId index, clang::QualType type);
  ir::PlaceId subscript(const ir::Operand& pointer, ir::ExprId index, clang::QualType type);
  ir::PlaceId pointee(const ir::Operand& pointer, clang::QualType type);
  /// The block of a container, the pointer of a smart pointer, the memory of a tensor.
  ir::PlaceId data(ir::PlaceId owner);
  /// How many elements it has; kNoPlace: it is no container of handles, pointers or objects.
  ir::PlaceId size(ir::PlaceId container);
  /// The index of its first element; kNoPlace: none, or that is always 0.
  ir::PlaceId begin(ir::PlaceId container);
  /// The index of the last element, as users count.
  ir::ExprId last_index(ir::PlaceId container);
  /// std::queue, std::stack.
  [[nodiscard]] bool adapts(ir::PlaceId container) const;
  /// The stream that a library handle was given, that a container or tensor was made on.
  ir::PlaceId stream_of(ir::PlaceId owner);
  /// The stream that was the current one before a guard made another the current one.
  ir::PlaceId stream_before(ir::PlaceId guard);
  /// The type that a pointer into an array or into the block of a container points to. Null: not known.
  [[nodiscard]] clang::QualType element_type(const ir::Operand& pointer) const;

  // What names mean.
  void declare(const clang::ValueDecl& variable, ir::PlaceId place);
  /// A reference is the place that it is bound to.
  void bind(const clang::ValueDecl& reference, ir::PlaceId to);
  void set_allocated(const clang::CXXNewExpr& allocation, ir::PlaceId pointer);
  /// An iterator is an index of its container.
  struct Iterator {
    ir::PlaceId container = ir::kNoPlace;  ///< kNoPlace: not known
    ir::PlaceId index = ir::kNoPlace;
    ir::ExprId first = ir::kNoExpr;  ///< what it starts at; kNoExpr: not known
  };
  void declare_iterator(const clang::VarDecl& variable, const Iterator& iterator);
  /// If the expression names an iterator that was declared.
  [[nodiscard]] std::optional<Iterator> iterator(const clang::Expr* expression) const;

  // The other way round: variables by their places.
  /// kNoPlace: it was not met.
  [[nodiscard]] ir::PlaceId known(const clang::ValueDecl& variable) const;
  [[nodiscard]] const clang::ValueDecl* declaration_of(ir::PlaceId place) const;
  /// A variable of this place has its address taken somewhere in the translation unit.
  [[nodiscard]] bool address_taken(ir::PlaceId place) const;
  /// What an iterator starts at, by its index.
  [[nodiscard]] std::optional<ir::ExprId> first_index(ir::PlaceId index) const;

 private:
  /// If the pointer is the block of a container: the container, whose elements are known by it; else kNoPlace.
  [[nodiscard]] ir::PlaceId container_of(ir::PlaceId pointer) const;

  Unit& unit_;
  const clang::FunctionDecl& definition_;
  const Scan& scan_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Values& values_;
  Assignments& assignments_;

  llvm::DenseMap<const clang::ValueDecl*, ir::PlaceId> variables_;
  llvm::DenseMap<const clang::ValueDecl*, ir::PlaceId> aliases_;  ///< references: what they are bound to
  llvm::DenseMap<const clang::VarDecl*, Iterator> iterators_;
  llvm::DenseMap<std::uint32_t, ir::ExprId> first_indices_;              ///< by place of an iterator's index
  llvm::DenseMap<const clang::ValueDecl*, clang::FieldDecl*> captures_;  ///< of a lambda's body
  clang::FieldDecl* captured_this_ = nullptr;
  llvm::DenseMap<const clang::CXXNewExpr*, ir::PlaceId> allocated_;  ///< the pointer that it returned
  ir::PlaceId returned_ = ir::kNoPlace;
};

}  // namespace streamsan::analyzer::host
