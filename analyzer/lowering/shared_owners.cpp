// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared pointers that nobody shares.
//
//   std::shared_ptr<float> buffer_(p, [](float* p) { cudaFree(p); });
//
// The last owner calls the deleter, and who that is cannot be known in general. It can where only one has ever been: a
// local variable, or a field of objects that are not copied, of which this translation unit shows all uses, and which
// is only ever made from a pointer and a deleter, or by a function that returns just that, and never copied, moved,
// bound to a reference or returned. Then it ends as a std::unique_ptr does. The deleter is a function, a lambda or a
// function object, one for all that is ever put there.
//
// All else has no end in sight: misses.
#include "analyzer/lowering/shared_owners.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/own_code_visitor.h"
#include "analyzer/lowering/symbols.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/IdentifierTable.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;
using host::strip;

constexpr unsigned kMostReturns = 8;  ///< functions that return what another one returns

bool is_shared(clang::QualType type) {
  const clang::CXXRecordDecl* record = type.isNull() || type->isReferenceType() ? nullptr : Symbols::record(type);
  return record != nullptr && record->isInStdNamespace() && record->getIdentifier() != nullptr &&
         record->getName() == "shared_ptr";
}

/// The local variable or field that is named, if it is a shared pointer.
const clang::ValueDecl* owner_named(const clang::Expr* expression) {
  const clang::Expr* at = expression == nullptr ? nullptr : strip(expression);
  const clang::ValueDecl* named = nullptr;
  if (const auto* name = dyn_cast_or_null<clang::DeclRefExpr>(at)) named = name->getDecl();
  if (const auto* member = dyn_cast_or_null<clang::MemberExpr>(at)) named = member->getMemberDecl();
  return named != nullptr && isa<clang::VarDecl, clang::FieldDecl>(named) && is_shared(named->getType()) ? named
                                                                                                         : nullptr;
}

/// What a deleter runs: nullptr if that is not one function.
const clang::FunctionDecl* run_by(const clang::Expr* deleter) {
  const clang::Expr* given = strip(deleter);
  if (const auto* address = dyn_cast<clang::UnaryOperator>(given))
    if (address->getOpcode() == clang::UO_AddrOf) given = strip(address->getSubExpr());
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(given))
    if (const auto* function = dyn_cast<clang::FunctionDecl>(name->getDecl())) return function;
  const clang::CXXRecordDecl* record = Symbols::record(given->getType());
  if (record == nullptr || !record->hasDefinition()) return nullptr;
  const clang::FunctionDecl* body = nullptr;
  for (const clang::CXXMethodDecl* method : record->methods()) {
    if (method->getOverloadedOperator() != clang::OO_Call) continue;
    if (body != nullptr || method->getNumParams() != 1) return nullptr;
    body = method;
  }
  return body;
}

class SharedOwnerSearch : public OwnCodeVisitor {
 public:
  using OwnCodeVisitor::OwnCodeVisitor;

  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override { return mention(owner_named(name)); }
  bool VisitMemberExpr(clang::MemberExpr* member) override { return mention(owner_named(member)); }

  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (!is_shared(variable->getType()) || isa<clang::ParmVarDecl>(variable)) return true;
    if (!variable->hasLocalStorage() || variable->isInitCapture()) owners_[variable].shared = true;
    if (variable->hasInit()) put(*variable, variable->getInit());
    return true;
  }
  bool VisitFieldDecl(clang::FieldDecl* field) override {
    if (is_shared(field->getType()) && field->hasInClassInitializer() && field->getInClassInitializer() != nullptr)
      put(*field, field->getInClassInitializer());
    return true;
  }
  bool VisitCXXConstructorDecl(clang::CXXConstructorDecl* constructor) override {
    for (const clang::CXXCtorInitializer* initializer : constructor->inits())
      if (initializer->isMemberInitializer() && is_shared(initializer->getMember()->getType()) &&
          !isa<clang::CXXDefaultInitExpr>(initializer->getInit()))
        put(*initializer->getMember(), initializer->getInit());
    return true;
  }
  bool VisitInitListExpr(clang::InitListExpr* list) override {
    const clang::CXXRecordDecl* record = Symbols::record(list->getType());
    if (record == nullptr || !record->hasDefinition()) return true;
    unsigned i = record->getNumBases();
    for (const clang::FieldDecl* field : record->fields()) {
      if (i < list->getNumInits() && is_shared(field->getType()) && !isa<clang::CXXDefaultInitExpr>(list->getInit(i)))
        put(*field, list->getInit(i));
      ++i;
    }
    return true;
  }
  bool VisitReturnStmt(clang::ReturnStmt* statement) override {
    if (function_ != nullptr && statement->getRetValue() != nullptr && is_shared(function_->getReturnType()))
      returned_[function_->getCanonicalDecl()].push_back(statement->getRetValue());
    return true;
  }
  bool VisitCXXMemberCallExpr(clang::CXXMemberCallExpr* call) override {
    const clang::ValueDecl* owner = owner_named(call->getImplicitObjectArgument());
    const clang::CXXMethodDecl* method = call->getMethodDecl();
    if (owner == nullptr || method == nullptr) return true;
    const bool asks =
        isa<clang::CXXConversionDecl>(method) ||
        (method->getIdentifier() != nullptr && (method->getName() == "get" || method->getName() == "use_count"));
    const bool resets = method->getIdentifier() != nullptr && method->getName() == "reset";
    if (asks || resets) ++owners_[owner].understood;
    if (!resets || call->getNumArgs() == 0) return true;
    owners_[owner].put.push_back(nullptr);
    if (call->getNumArgs() == 2) owners_[owner].put.back() = call;
    return true;
  }
  bool VisitCXXOperatorCallExpr(clang::CXXOperatorCallExpr* call) override {
    for (unsigned i = 0; i < call->getNumArgs(); ++i) {
      const clang::ValueDecl* owner = owner_named(call->getArg(i));
      if (owner == nullptr) continue;
      switch (call->getOperator()) {
        case clang::OO_Arrow:
        case clang::OO_Star:
        case clang::OO_Subscript:
        case clang::OO_EqualEqual:
        case clang::OO_ExclaimEqual:
          ++owners_[owner].understood;
          break;
        case clang::OO_Equal:
          if (i != 0) break;
          ++owners_[owner].understood;
          put(*owner, call->getArg(1));
          break;
        default:
          break;
      }
    }
    return true;
  }

  SharedOwners take() {
    SharedOwners result;
    for (const auto& [owner, seen] : owners_) {
      if (seen.shared || seen.put.empty() || seen.mentioned != seen.understood) continue;
      const auto* field = dyn_cast<clang::FieldDecl>(owner);
      if (field != nullptr && !has_one_object(*field)) continue;
      std::optional<const clang::FunctionDecl*> deleter;
      for (const clang::Expr* made : seen.put) {
        const clang::FunctionDecl* runs = made == nullptr ? nullptr : deleter_of(made, 0);
        if (deleter && *deleter != runs) runs = nullptr;
        deleter = runs;
        if (runs == nullptr) break;
      }
      if (*deleter != nullptr) result[owner] = *deleter;
    }
    return result;
  }

 private:
  struct Seen {
    unsigned mentioned = 0, understood = 0;
    bool shared = false;
    std::vector<const clang::Expr*> put;  ///< nullptr: a pointer without a deleter
  };

  bool mention(const clang::ValueDecl* owner) {
    if (owner != nullptr) ++owners_[owner].mentioned;
    return true;
  }

  void put(const clang::ValueDecl& owner, const clang::Expr* value) {
    const clang::Expr* given = made_of(value);
    const auto* construction = dyn_cast<clang::CXXConstructExpr>(given);
    const bool empty = isa<clang::CXXNullPtrLiteralExpr, clang::ImplicitValueInitExpr>(given) ||
                       (construction != nullptr && construction->getNumArgs() == 0);
    if (!empty) owners_[&owner].put.push_back(given);
  }

  /// Past copies of temporaries, and the constructor of an empty one.
  static const clang::Expr* made_of(const clang::Expr* value) {
    for (const clang::Expr* at = strip(value);;) {
      const auto* list = dyn_cast<clang::InitListExpr>(at);
      if (list != nullptr && list->getNumInits() == 1) {
        at = strip(list->getInit(0));
        continue;
      }
      const auto* construction = dyn_cast<clang::CXXConstructExpr>(at);
      if (construction == nullptr || construction->getNumArgs() != 1) return at;
      const clang::Expr* inner = strip(construction->getArg(0));
      if (!inner->getType()->isNullPtrType() && (construction->getArg(0)->isLValue() || !is_shared(inner->getType())))
        return at;
      at = inner;
    }
  }

  /// Of a shared pointer that is made of a pointer and a deleter; nullptr: of anything else.
  const clang::FunctionDecl* deleter_of(const clang::Expr* made, unsigned depth) {
    const clang::Expr* at = made_of(made);
    llvm::ArrayRef<const clang::Expr*> given;
    if (const auto* construction = dyn_cast<clang::CXXConstructExpr>(at)) {
      given = {construction->getArgs(), construction->getNumArgs()};
    } else if (const auto* reset = dyn_cast<clang::CXXMemberCallExpr>(at);
               reset != nullptr && owner_named(reset->getImplicitObjectArgument()) != nullptr) {
      given = {reset->getArgs(), reset->getNumArgs()};
    } else if (const auto* call = dyn_cast<clang::CallExpr>(at)) {
      const clang::FunctionDecl* callee = call->getDirectCallee();
      const auto* method = dyn_cast_or_null<clang::CXXMethodDecl>(callee);
      if (callee == nullptr || depth == kMostReturns || (method != nullptr && method->isVirtual())) return nullptr;
      const auto returns = returned_.find(callee->getCanonicalDecl());
      if (returns == returned_.end()) return nullptr;
      const clang::FunctionDecl* all = nullptr;
      for (const clang::Expr* value : returns->second) {
        const clang::FunctionDecl* runs = deleter_of(value, depth + 1);
        if (runs == nullptr || (all != nullptr && all != runs)) return nullptr;
        all = runs;
      }
      return all;
    }
    if (given.size() < 2 || !strip(given[0])->getType()->isPointerType()) return nullptr;
    return run_by(given[1]);
  }

  /// Each object has its own, and this translation unit shows what is done with it.
  bool has_one_object(const clang::FieldDecl& field) const {
    const auto* record = dyn_cast<clang::CXXRecordDecl>(field.getParent());
    if (record == nullptr) return false;
    for (const clang::CXXMethodDecl* method : record->methods()) {
      const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(method);
      const bool copies =
          constructor != nullptr ? constructor->isCopyConstructor() : method->isCopyAssignmentOperator();
      if (copies && !method->isDeleted() && method->isUsed(false)) return false;
    }
    const clang::SourceManager& sources = field.getASTContext().getSourceManager();
    if (sources.isInMainFile(sources.getExpansionLoc(record->getLocation()))) return true;
    return field.getAccess() == clang::AS_private && !record->hasFriends() &&
           std::ranges::all_of(record->methods(), [](const clang::CXXMethodDecl* method) {
             return method->isImplicit() || method->isDeleted() || method->isDefaulted() || method->hasBody() ||
                    method->getInstantiatedFromMemberFunction() != nullptr;
           });
  }

  llvm::DenseMap<const clang::ValueDecl*, Seen> owners_;
  llvm::DenseMap<const clang::FunctionDecl*, std::vector<const clang::Expr*>> returned_;
};

}  // namespace

SharedOwners find_shared_owners(Symbols& symbols) {
  // Most files have none, and need not be gone through.
  const clang::IdentifierTable& names = symbols.context().Idents;
  if (names.find("shared_ptr") == names.end()) return SharedOwners();
  SharedOwnerSearch search(symbols);
  search.TraverseDecl(symbols.context().getTranslationUnitDecl());
  return search.take();
}

}  // namespace streamsan::analyzer
