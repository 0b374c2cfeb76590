// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which functions of a translation unit matter. See census.cpp.
#pragma once

#include <vector>

#include "analyzer/lowering/callables.h"
#include "analyzer/lowering/shared_owners.h"
#include "analyzer/lowering/symbols.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace clang {
class CXXRecordDecl;
class DeclContext;
class Stmt;
class ValueDecl;
}  // namespace clang

namespace streamsan::analyzer {

class Census {
 public:
  explicit Census(Symbols& symbols);

  /// The definitions to lower, in source order.
  [[nodiscard]] const std::vector<const clang::FunctionDecl*>& chosen() const { return chosen_; }
  /// True if it, or what it calls, does something with streams, events or device memory.
  [[nodiscard]] bool is_root(const clang::FunctionDecl& function) const { return roots_.contains(canonical(function)); }
  /// The definition that is lowered for a callee, or nullptr.
  [[nodiscard]] const clang::FunctionDecl* lowered(const clang::FunctionDecl& function) const;
  /// The function that a virtual call of `method` runs, if only one that is lowered can be meant, or if of several only
  /// one class does something on the device. Else nullptr.
  [[nodiscard]] const clang::FunctionDecl* only_override(const clang::FunctionDecl& method) const;
  /// An object of another class than that of `chosen` is made somewhere, which has a function of its own for a call of
  /// `method`.
  [[nodiscard]] bool may_run_another(const clang::FunctionDecl& method, const clang::FunctionDecl& chosen) const;
  /// Somewhere in the translation unit: &variable, an array used as a pointer, a reference bound to it.
  [[nodiscard]] bool address_taken(const clang::ValueDecl& variable) const { return addressed_.contains(&variable); }
  /// It asks CUDA what kind of memory a pointer that it is given points to.
  [[nodiscard]] bool asks_kind(const clang::FunctionDecl& function) const;
  [[nodiscard]] const Callables& callables() const { return callables_; }
  void bind(const Callables::Bindings& bindings) { callables_.bind(bindings); }
  /// The function that the end of an unshared shared pointer calls. nullptr: not known, or the variable is another one.
  [[nodiscard]] const clang::FunctionDecl* deleter(const clang::ValueDecl& owner) const {
    return shared_owners_.lookup(&owner);
  }
  [[nodiscard]] std::uint32_t functions_seen() const { return static_cast<std::uint32_t>(nodes_.size()); }

 private:
  struct Node {
    const clang::FunctionDecl* definition = nullptr;
    std::vector<const clang::FunctionDecl*> callees;
    std::vector<const clang::ValueDecl*> called_through;  ///< slots of callables
    bool direct = false;
    bool asks_kind = false;
  };

  static const clang::FunctionDecl* canonical(const clang::FunctionDecl& function);
  void visit_all(const clang::DeclContext& scope);
  void visit(const clang::Decl& declaration);
  void visit(const clang::FunctionDecl& function);
  void visit_members(const clang::CXXRecordDecl& record);
  void walk(const clang::Stmt* statement, Node& node);
  void walk_type(clang::QualType type, Node& node);
  void call(const clang::FunctionDecl& callee, Node& node);
  void construct_by_library(const clang::FunctionDecl& callee, const Symbols::Known& known, Node& node);
  void choose();
  [[nodiscard]] const clang::CXXRecordDecl* working_class(const clang::CXXRecordDecl& base) const;
  /// The functions that a call of `callee` may run.
  [[nodiscard]] std::vector<Node*> run_by(const clang::FunctionDecl* callee) const;

  Symbols& symbols_;
  Callables callables_;
  SharedOwners shared_owners_;
  llvm::DenseMap<const clang::FunctionDecl*, std::vector<const clang::FunctionDecl*>> overrides_;  ///< definitions
  std::vector<std::unique_ptr<Node>> nodes_;
  llvm::DenseMap<const clang::FunctionDecl*, Node*> by_function_;
  llvm::DenseSet<const clang::FunctionDecl*> roots_;
  llvm::DenseSet<const clang::FunctionDecl*> lowered_;
  llvm::DenseSet<const clang::ValueDecl*> addressed_;
  std::vector<const clang::FunctionDecl*> chosen_;
};

}  // namespace streamsan::analyzer
