// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gathers what the functions of a file do with containers of blocks. free_lists.cpp decides by it which containers are
// free lists.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/lowering/container_calls.h"
#include "analyzer/lowering/free_lists.h"
#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/own_code_visitor.h"
#include "analyzer/lowering/symbols.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::free_list {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using host::strip;

bool is_below(const clang::Stmt* sought, const clang::Stmt* root);
bool names(const clang::Stmt* root, const clang::VarDecl* variable);
/// A pointer, or an object with pointers in it, that can stand for memory. Streams and events are pointers, too: a pool
/// of events gives one out again while somebody waits for it, and is right.
bool is_block(Symbols& symbols, clang::QualType type);
/// The class of a function; that of a lambda is the class of the function around it. nullptr: it is in no class.
const clang::DeclContext* class_of(const clang::FunctionDecl& function);
bool is_of_class_around(const clang::FunctionDecl& function, const clang::ValueDecl& member);

class FreeListSearch : public OwnCodeVisitor {
 public:
  using OwnCodeVisitor::OwnCodeVisitor;

  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (function_ != nullptr && variable->hasLocalStorage() && variable->hasInit())
      of().set.emplace_back(variable, variable->getInit());
    return true;
  }
  bool VisitReturnStmt(clang::ReturnStmt* statement) override {
    if (function_ != nullptr && statement->getRetValue() != nullptr) of().returned.push_back(statement->getRetValue());
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* construction) override {
    if (function_ == nullptr || construction->getConstructor()->isCopyOrMoveConstructor()) return true;
    if (!symbols_.in_system_header(*construction->getConstructor()))
      of().kept.insert(of().kept.end(), construction->arg_begin(), construction->arg_end());
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* assignment) override {
    if (function_ != nullptr && assignment->getOpcode() == clang::BO_LOr) of().either = true;
    if (function_ == nullptr || assignment->getOpcode() != clang::BO_Assign) return true;
    const clang::Expr* target = strip(assignment->getLHS());
    if (const auto* name = dyn_cast<clang::DeclRefExpr>(target)) {
      if (const auto* variable = dyn_cast<clang::VarDecl>(name->getDecl()))
        of().set.emplace_back(variable, assignment->getRHS());
    } else if (isa<clang::MemberExpr, clang::UnaryOperator>(target)) {
      of().kept.push_back(assignment->getRHS());
    }
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    if (function_ == nullptr) return true;
    note_allocation(*call);
    if (may_wait(*call)) of().waits = true;
    // cudaMalloc(&p, bytes)
    for (const clang::Expr* given : call->arguments())
      if (const auto* address = dyn_cast<clang::UnaryOperator>(strip(given));
          address != nullptr && address->getOpcode() == clang::UO_AddrOf)
        if (const auto* name = dyn_cast<clang::DeclRefExpr>(strip(address->getSubExpr())))
          if (const auto* variable = dyn_cast<clang::VarDecl>(name->getDecl()))
            of().set.emplace_back(variable, address);
    if (const clang::FunctionDecl* callee = call->getDirectCallee()) of().called.push_back(callee->getCanonicalDecl());
    llvm::StringRef name;
    const clang::CXXMemberCallExpr* method = method_call(call, &name);
    const Named list = method == nullptr ? Named{} : named_container(method->getImplicitObjectArgument());
    if (list.container == nullptr) return true;
    if (const ListEnd end = end_taken_at(name); end != ListEnd::None)
      of().read.push_back({list, method->getImplicitObjectArgument(), call, end});
    if (name == "empty") of().asked_empty.insert(list.container);
    if (takes_out(name)) of().taken_out.insert(list.container);
    if (const ListEnd end = end_put_at(name); end != ListEnd::None && call->getNumArgs() > 0)
      puts_.push_back({list.container, method->getImplicitObjectArgument(), call, function_, end});
    return true;
  }
  bool VisitCXXNewExpr(clang::CXXNewExpr*) override {
    if (function_ != nullptr) of().allocates = true;
    return true;
  }
  /// `*it`, `it->data`, where `it` goes through a list.
  bool VisitCXXOperatorCallExpr(clang::CXXOperatorCallExpr* access) override {
    if (function_ != nullptr && access->getNumArgs() == 1 &&
        (access->getOperator() == clang::OO_Star || access->getOperator() == clang::OO_Arrow))
      of().dereferenced.push_back(access);
    return true;
  }
  /// `it->second`, where `it` was found in a container.
  bool VisitMemberExpr(clang::MemberExpr* member) override {
    if (function_ != nullptr && member->getMemberDecl()->getDeclName().isIdentifier() &&
        is_block(symbols_, member->getType()) &&
        (member->getMemberDecl()->getName() == "second" || member->getMemberDecl()->getName() == "first"))
      of().members.push_back(member);
    return true;
  }

  FreeLists take();

 private:
  struct Read {
    Named list;
    const clang::Expr* container = nullptr;
    const clang::Expr* element = nullptr;
    ListEnd end = ListEnd::None;
    const clang::CXXMemberCallExpr* found = nullptr;  ///< by the key that is its argument
    bool searched = false;                            ///< it is the first that is good enough
  };
  struct Put {
    const clang::ValueDecl* container = nullptr;
    const clang::Expr* named = nullptr;
    const clang::CallExpr* call = nullptr;
    const clang::FunctionDecl* function = nullptr;
    ListEnd end = ListEnd::None;
    const clang::Expr* block = nullptr;
    const clang::Expr* key = nullptr;
    bool own_key = false;
    bool entry = false;
  };
  struct OfFunction {
    const clang::FunctionDecl* function = nullptr;
    std::vector<Read> read;
    llvm::DenseSet<const clang::ValueDecl*> taken_out;
    llvm::DenseSet<const clang::ValueDecl*> asked_empty;
    std::vector<const clang::FunctionDecl*> called;
    std::vector<std::pair<const clang::VarDecl*, const clang::Expr*>> set;
    std::vector<const clang::MemberExpr*> members;
    std::vector<const clang::CXXOperatorCallExpr*> dereferenced;
    std::vector<const clang::Expr*> returned;
    std::vector<const clang::Expr*> kept;  ///< given to a constructor, stored in an object
    bool allocates = false;
    bool waits = false;
    bool either = false;  ///< some condition is `a || b`
  };
  struct Kinds {
    llvm::SmallVector<ordering::MemoryKind, 2> seen;
    void add(ordering::MemoryKind kind) {
      if (std::ranges::find(seen, kind) == seen.end()) seen.push_back(kind);
    }
    [[nodiscard]] std::optional<ordering::MemoryKind> only() const {
      return seen.size() == 1 ? std::optional(seen.front()) : std::nullopt;
    }
  };

  OfFunction& of() {
    OfFunction& body = functions_[function_];
    body.function = function_;
    return body;
  }
  void note_allocation(const clang::CallExpr& call);
  [[nodiscard]] bool may_wait(const clang::CallExpr& call) const;
  /// What the iterator was found in and by; nullptr: it is none.
  [[nodiscard]] static const clang::CXXMemberCallExpr* found_by(const OfFunction& body, const clang::Expr* iterator);
  void read_found(OfFunction& body) const;
  [[nodiscard]] static const clang::Expr* key_of_entry(const clang::Expr* list, const OfFunction& body);
  void read_given(Put& put) const;
  /// `sizes_.find(p)->second`, `sizes_.at(p)`, `sizes_[p]`: what is kept somewhere about this block.
  [[nodiscard]] bool is_kept_about(const OfFunction& body, const clang::Expr* key, const clang::Expr* block) const;
  [[nodiscard]] const clang::Expr* given_back(const Put& put, const clang::Expr* given) const;
  [[nodiscard]] bool gives_last(const OfFunction& body, const Read& read) const;
  [[nodiscard]] bool is_filled_before(const clang::ValueDecl& container) const;
  [[nodiscard]] std::optional<FreeLists::Taking> taking(const OfFunction& body, const Read& read) const;

  llvm::DenseMap<const clang::FunctionDecl*, OfFunction> functions_;
  std::vector<Put> puts_;
  llvm::DenseMap<const clang::DeclContext*, Kinds> kinds_;    ///< by class: of the memory that its functions make
  llvm::DenseMap<const clang::ValueDecl*, Kinds> of_fields_;  ///< made by calls that are given its address
};

}  // namespace streamsan::analyzer::free_list
