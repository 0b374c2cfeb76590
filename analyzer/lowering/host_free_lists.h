// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that are taken out of a pool and go back to it; see host_free_lists.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/free_lists.h"

namespace clang {
class Expr;
class FunctionDecl;
class Stmt;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

class FunctionBuilder;
class Maps;
class Places;
class Values;
struct Parts;
struct Unit;

class Pools {
 public:
  explicit Pools(const Parts& parts);

  /// Where the function begins.
  void enter();
  /// Before and after each statement that is lowered.
  void before(const clang::Stmt& statement);
  void after(const clang::Stmt& statement);

 private:
  void take();
  void remember_key(ir::SiteId site);
  /// Nothing is known of the block that the list gives out after this one, but that it is another.
  void renew(ir::PlaceId given, ir::SiteId site);
  void allocate(ir::PlaceId pointer, std::optional<ordering::MemoryKind> memory, ir::SiteId site);
  /// The value of a variable is the block that is handed out.
  [[nodiscard]] bool comes_out(const clang::Expr* held) const;
  void hand_out(const clang::VarDecl& variable, const clang::Stmt& at);
  /// The block that the list gives out next; nullptr: it has no keys.
  ir::PlaceId next_of(const clang::Expr& container, clang::QualType block, const clang::Expr* key);
  /// The same of a block that goes back under the key that it was taken out under.
  ir::PlaceId next_of_own(const FreeLists::Giving& giving, const ir::Operand& block);
  ir::PlaceId next_in(ir::PlaceId list, ir::PlaceId of, clang::QualType type);
  ir::ExprId held_by(ir::PlaceId place);
  /// The key that a block was taken out under.
  ir::PlaceId key_of(ir::PlaceId list, ir::PlaceId block);

  Unit& unit_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Maps& maps_;

  const FreeLists::Taking* taking_ = nullptr;  ///< of this function
  ir::PlaceId taken_ = ir::kNoPlace;           ///< the block that it hands out
};

}  // namespace streamsan::analyzer::host
