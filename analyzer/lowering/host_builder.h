// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function that is written: its tables of places, expressions and sites, and the block that ops are put into.
//
// Knows nothing of how an expression is lowered. It adds to ir::Function what only the source says: the C++
// type of a place, and the statement that a site stands for, so that a statement asked for twice is one site.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/ir/ir.h"
#include "clang/AST/Type.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace clang {
class FunctionDecl;
class SourceLocation;
class Stmt;
}  // namespace clang

namespace streamsan::analyzer::host {

struct Scan;
struct Unit;

inline ir::Operand value(ir::PlaceId place) { return {.kind = ir::Operand::Kind::Value, .place = place}; }
inline ir::Operand address(ir::PlaceId place) { return {.kind = ir::Operand::Kind::Address, .place = place}; }
inline ir::Operand unknown() { return {.kind = ir::Operand::Kind::Unknown}; }

/// Values that are no memory: of several in an array it matters which, not where.
inline bool is_handle(ir::TypeKind type) {
  return type == ir::TypeKind::Stream || type == ir::TypeKind::Event || type == ir::TypeKind::Graph;
}

class FunctionBuilder {
 public:
  FunctionBuilder(Unit& unit, const clang::FunctionDecl& definition, const Scan& scan);

  [[nodiscard]] const ir::Place& operator[](ir::PlaceId place) const { return function_[place]; }
  [[nodiscard]] const ir::Expr& operator[](ir::ExprId expr) const { return function_[expr]; }
  [[nodiscard]] std::string spell(ir::PlaceId place) const { return function_.spell(place); }
  ir::ExprId add(ir::Expr expr) { return function_.add(std::move(expr)); }
  /// The function as it is by now. To passes over the whole it belongs once the walk is done.
  ir::Function& function() { return function_; }

  // Places.
  ir::PlaceId add(ir::Place place) { return function_.add(std::move(place)); }
  ir::PlaceId parameter(const std::string& name, clang::QualType type);
  ir::PlaceId temporary(ir::TypeKind type, const std::string& name = {});
  ir::PlaceId object_temporary(clang::QualType type);
  /// Another one with each call, so that two variables with the same name stay two.
  ir::PlaceId new_local(const std::string& name, ir::TypeKind type);
  /// `number`: see ir::kOfThisFile.
  ir::PlaceId global(const std::string& name, ir::TypeKind type, std::uint32_t number = 0);
  /// The object that the function is a member of.
  ir::PlaceId self();
  ir::PlaceId field(ir::PlaceId base, const std::string& name, const std::string& owner, ir::TypeKind type);
  ir::PlaceId element(ir::PlaceId base, ir::ExprId index, clang::QualType type);
  ir::PlaceId dereferenced(ir::PlaceId pointer, clang::QualType type);
  /// Notes the C++ type of a place, the first time only; returns the place.
  ir::PlaceId typed(ir::PlaceId place, clang::QualType type);
  /// Null: not known.
  [[nodiscard]] clang::QualType type_of(ir::PlaceId place) const;
  [[nodiscard]] ir::TypeKind kind(clang::QualType type) const;
  [[nodiscard]] ir::TypeKind kind(ir::PlaceId place) const {
    return place == ir::kNoPlace ? ir::TypeKind::Other : function_[place].type;
  }

  /// A variable, or a field of one: its name is the only one that code here has for it.
  [[nodiscard]] bool is_variable(ir::PlaceId place) const;

  // Sites.
  /// The site of a statement. The first `text` passed names it in messages.
  ir::SiteId site(const clang::Stmt& what, const std::string& text = {}, ir::Api api = ir::Api::None);
  /// A point that stands for `what`, as the end of a scope.
  ir::SiteId point(const clang::Stmt& what, clang::SourceLocation location);
  ir::SiteId add(ir::Site site) { return function_.add(std::move(site)); }
  ir::Site& site_of(ir::SiteId site) { return function_.sites[static_cast<std::size_t>(site)]; }
  /// The declaration of the function.
  [[nodiscard]] ir::SiteId declaration() const { return function_.site; }

  // Blocks and ops.
  std::size_t new_block();
  void link(std::size_t from, std::size_t to);
  [[nodiscard]] std::size_t block() const { return block_; }
  /// From now on ops are put there.
  void go_on_in(std::size_t block) { block_ = block; }
  std::vector<ir::Op>& ops() { return function_.blocks[block_].ops; }
  ir::Op& emit(ir::Op op);
  /// A source of which nothing is known makes the target fresh. Places that are not tracked are left out.
  void emit_assign(ir::PlaceId target, ir::Operand source, ir::SiteId site);
  void emit_fresh(ir::PlaceId target, ir::SiteId site);
  /// The function asks what kind of memory this points to.
  void ask_kind(ir::PlaceId pointer) { asked_.insert(static_cast<std::uint32_t>(pointer)); }
  [[nodiscard]] const llvm::DenseSet<std::uint32_t>& asked() const { return asked_; }

 private:
  Unit& unit_;
  const Scan& scan_;
  ir::Function function_;
  std::size_t block_ = 0;                     ///< where ops are put
  std::vector<clang::QualType> place_types_;  ///< by place, where known
  llvm::DenseMap<const clang::Stmt*, ir::SiteId> sites_;
  std::map<std::string, std::uint32_t> names_;
  std::uint32_t temporaries_ = 0;
  llvm::DenseSet<std::uint32_t> asked_;
};

}  // namespace streamsan::analyzer::host
