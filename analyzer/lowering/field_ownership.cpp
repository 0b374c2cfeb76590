// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation and use of handle fields, compared. field_ownership.h explains it.
#include "analyzer/lowering/field_ownership.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/lowering/called_model.h"
#include "analyzer/models/model.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Expr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;

/// What `condition` says of a handle: not null if it holds (true) or if it does not (false). Absent: something else.
std::optional<bool> tells_made(const clang::Expr& condition, const clang::ValueDecl& handle) {
  const clang::Expr* plain = condition.IgnoreParenImpCasts();
  const auto names = [&](const clang::Expr* side) {
    const auto* member = dyn_cast<clang::MemberExpr>(side->IgnoreParenImpCasts());
    return member != nullptr && member->getMemberDecl() == &handle;
  };
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(plain)) {
    // Both sides hold where `a && b` does.
    if (binary->getOpcode() == clang::BO_LAnd) {
      const auto left = tells_made(*binary->getLHS(), handle), right = tells_made(*binary->getRHS(), handle);
      return left == true || right == true ? std::optional(true) : std::nullopt;
    }
    if (!binary->isEqualityOp() || (!names(binary->getLHS()) && !names(binary->getRHS()))) return std::nullopt;
    const clang::Expr* other = names(binary->getLHS()) ? binary->getRHS() : binary->getLHS();
    other = other->IgnoreParenCasts();
    const auto* zero = dyn_cast<clang::IntegerLiteral>(other);
    if (!llvm::isa<clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr>(other) &&
        (zero == nullptr || zero->getValue() != 0)) {
      return std::nullopt;
    }
    return binary->getOpcode() == clang::BO_NE;
  }
  if (const auto* negated = dyn_cast<clang::UnaryOperator>(plain); negated && negated->getOpcode() == clang::UO_LNot) {
    return names(negated->getSubExpr()) ? std::optional(false) : std::nullopt;
  }
  return names(plain) ? std::optional(true) : std::nullopt;
}

bool found_made(const Spot& spot, const clang::FieldDecl& field) {
  return std::ranges::any_of(spot.branches, [&](const Branch& branch) {
    const auto tells = branch.condition == nullptr ? std::nullopt : tells_made(*branch.condition, field);
    if (!tells || *tells != branch.holds) return false;
    // That `a && s_` does not hold says nothing of s_.
    const auto* both = dyn_cast<clang::BinaryOperator>(branch.condition->IgnoreParenImpCasts());
    return branch.holds || both == nullptr || !both->isLogicalOp();
  });
}

/// The branches without those that are taken where the field is null: behind them it is made either way.
std::vector<Branch> without_null_tests(const Spot& spot, const clang::FieldDecl& field) {
  std::vector<Branch> rest;
  for (const Branch& branch : spot.branches) {
    const auto tells = branch.condition == nullptr ? std::nullopt : tells_made(*branch.condition, field);
    const auto* both = branch.condition == nullptr
                           ? nullptr
                           : dyn_cast<clang::BinaryOperator>(branch.condition->IgnoreParenImpCasts());
    if (tells && *tells != branch.holds && (both == nullptr || !both->isLogicalOp())) continue;
    rest.push_back(branch);
  }
  return rest;
}

bool starts_with(const std::vector<Branch>& branches, const std::vector<Branch>& first) {
  return first.size() <= branches.size() && std::equal(first.begin(), first.end(), branches.begin());
}

using Ways = std::set<std::vector<std::pair<const clang::Stmt*, bool>>>;

/// Whether every way through one of the functions makes the field: an `else` that makes it as well closes the gap.
bool on_all_ways(Ways ways) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& way : ways) {
      if (way.empty()) return true;
      auto other = way;
      other.back().second = !other.back().second;
      if (!ways.contains(other)) continue;
      auto both = way;
      both.pop_back();
      changed = ways.insert(std::move(both)).second || changed;
      if (changed) break;
    }
  }
  return false;
}

/// Behind `from`, or anywhere.
bool makes_always(const std::vector<const Making*>& makings, const Spot& from = {}) {
  Ways ways;
  for (const Making* making : makings) {
    if (making->spot.number < from.number) continue;
    const std::vector<Branch>& branches = making->spot.branches;
    const auto apart = std::ranges::mismatch(branches, from.branches).in1;
    Ways::value_type way;
    for (auto branch = apart; branch != branches.end(); ++branch) way.emplace_back(branch->choice, branch->holds);
    ways.insert(std::move(way));
  }
  return on_all_ways(std::move(ways));
}

bool holds_many(clang::QualType type) {
  return type->isArrayType() || type->isRecordType() ||
         (type->isPointerType() && type->getPointeeType()->isPointerType());
}

/// Elements are made in loops, all of them.
Uses outside_loops(Uses uses) {
  const auto leave = [](Spot& spot) {
    std::erase_if(spot.branches, [](const Branch& branch) { return branch.way == Way::Loop; });
  };
  for (Making& making : uses.makings) leave(making.spot);
  std::ranges::for_each(uses.readings, leave);
  std::ranges::for_each(uses.cleared, leave);
  return uses;
}

/// Makes, ends or moves an object: null is what is left, not what is used.
bool may_leave_null(const clang::FunctionDecl& function) {
  if (llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(function)) return true;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(&function);
  return method != nullptr && method->isMoveAssignmentOperator();
}

}  // namespace

bool made_before_use(const clang::FieldDecl& field, const Uses& all_uses, const Calls& calls) {
  const auto* container = field.getType()->getAsCXXRecordDecl();
  if (container != nullptr && container->isInStdNamespace() && container->getName() == "vector") return true;

  const Uses uses = holds_many(field.getType()) ? outside_loops(all_uses) : all_uses;
  std::map<const clang::FunctionDecl*, std::vector<const Making*>> by_function;
  for (const Making& making : uses.makings) by_function[making.spot.function].push_back(&making);
  const bool left_null = std::ranges::any_of(uses.cleared, [&](const Spot& cleared) {
    if (cleared.function == nullptr || may_leave_null(*cleared.function)) return false;
    const auto same = [&](const Spot& spot) { return spot.function == cleared.function; };
    if (std::ranges::any_of(uses.destroyed, same)) return false;
    const auto makings = by_function.find(cleared.function);
    return makings == by_function.end() || !makes_always(makings->second, cleared);
  });
  if (left_null) return false;

  bool always = false, perhaps_constructed = false;
  for (const auto& [function, makings] : by_function) {
    const bool all = makes_always(makings);
    always = always || all;
    perhaps_constructed =
        perhaps_constructed || (!all && dyn_cast_or_null<clang::CXXConstructorDecl>(function) != nullptr);
  }
  if (always && !perhaps_constructed) return true;

  // Created where it was null: it is made from there on.
  std::vector<Spot> made;
  std::set<const clang::FunctionDecl*> makers;
  for (const Making& making : uses.makings) {
    Spot after = making.spot;
    after.branches = without_null_tests(making.spot, field);
    if (after.branches.empty() && after.function != nullptr) makers.insert(after.function->getCanonicalDecl());
    made.push_back(making.spot);
    made.push_back(std::move(after));
  }
  for (const auto& [callee, spot] : calls)
    if (makers.contains(callee)) made.push_back(spot);
  return std::ranges::all_of(uses.readings, [&](const Spot& reading) {
    return found_made(reading, field) || std::ranges::any_of(made, [&](const Spot& before) {
             return before.function == reading.function && before.number < reading.number &&
                    starts_with(reading.branches, before.branches);
           });
  });
}

bool open_to_others(const clang::FieldDecl& field, const Uses& uses) {
  if (field.getAccess() == clang::AS_private) return false;
  const clang::SourceManager& sources = field.getASTContext().getSourceManager();
  if (sources.isInMainFile(sources.getExpansionLoc(field.getLocation()))) return false;
  return std::ranges::none_of(uses.makings, [&](const Making& making) {
    const auto* method = dyn_cast_or_null<clang::CXXMethodDecl>(making.spot.function);
    return method != nullptr && method->getParent()->getCanonicalDecl() == field.getParent()->getCanonicalDecl();
  });
}

namespace {

/// Whether a class is written in this file with all that may use one of its fields.
class Written {
 public:
  Written(const clang::FieldDecl& field, const Models& models, bool local)
      : name_(field.getDeclName()), models_(models), local_(local) {}

  [[nodiscard]] bool whole(const clang::CXXRecordDecl& record) const {
    return !record.hasFriends() &&
           llvm::all_of(record.decls(), [this](const clang::Decl* member) { return is_written(*member); });
  }

 private:
  /// Of an instantiation only what is used here has a body of its own. Another file that has the class, too, may use
  /// the rest.
  [[nodiscard]] bool is_written(const clang::FunctionDecl& function) const {
    if (function.isDeleted() || function.isDefaulted()) return true;
    const clang::FunctionDecl* body = function.isDefined() ? function.getDefinition() : nullptr;
    if (body != nullptr && !body->isDependentContext()) return true;
    if (body == nullptr) body = function.getTemplateInstantiationPattern();
    if (body == nullptr) return false;
    if (body->isDefaulted() || body->isDeleted()) return true;
    return body->isDefined() && (local_ || !uses_field(*body->getDefinition()));
  }

  [[nodiscard]] bool is_written(const clang::Decl& member) const {
    if (const auto* of_function = dyn_cast<clang::FunctionTemplateDecl>(&member)) {
      if (llvm::any_of(of_function->specializations(), [](const auto* one) { return one->isDefined(); })) return true;
      while (const auto* pattern = of_function->getInstantiatedFromMemberTemplate()) of_function = pattern;
      return is_written(*of_function->getTemplatedDecl());
    }
    if (const auto* of_class = dyn_cast<clang::ClassTemplateDecl>(&member)) {
      while (const auto* pattern = of_class->getInstantiatedFromMemberTemplate()) of_class = pattern;
      const clang::CXXRecordDecl* pattern = of_class->getTemplatedDecl();
      return pattern->hasDefinition() && whole(*pattern->getDefinition());
    }
    if (const auto* nested = dyn_cast<clang::CXXRecordDecl>(&member); nested != nullptr && !nested->isImplicit()) {
      const clang::CXXRecordDecl* pattern = nested->getTemplateInstantiationPattern();
      const clang::CXXRecordDecl* of = nested->hasDefinition() || pattern == nullptr ? nested : pattern;
      return of->hasDefinition() && whole(*of->getDefinition());
    }
    const auto* method = dyn_cast<clang::CXXMethodDecl>(&member);
    return method == nullptr || method->isImplicit() || is_written(*method);
  }

  [[nodiscard]] bool uses_field(const clang::FunctionDecl& function) const {
    if (const auto* constructor = dyn_cast<clang::CXXConstructorDecl>(&function))
      for (const clang::CXXCtorInitializer* initializer : constructor->inits())
        if (uses_field(initializer->getInit())) return true;
    return uses_field(function.getBody());
  }

  /// Does more with a field of that name than to make or destroy what it holds.
  [[nodiscard]] bool uses_field(const clang::Stmt* statement) const {
    if (statement == nullptr) return false;
    if (const auto* call = dyn_cast<clang::CallExpr>(statement)) {
      const Model* model = called_model(models_, *call);
      if (model != nullptr &&
          (model->effect.kind == api::EffectKind::EventCreate || model->effect.kind == api::EffectKind::EventDestroy))
        return false;
    }
    if (const auto* member = dyn_cast<clang::MemberExpr>(statement);
        member != nullptr && member->getMemberDecl()->getDeclName() == name_)
      return true;
    if (const auto* member = dyn_cast<clang::CXXDependentScopeMemberExpr>(statement);
        member != nullptr && member->getMember() == name_)
      return true;
    return llvm::any_of(statement->children(), [this](const clang::Stmt* part) { return uses_field(part); });
  }

  clang::DeclarationName name_;
  const Models& models_;
  bool local_;
};

}  // namespace

bool all_uses_in_sight(const clang::FieldDecl& field, const Models& models) {
  const auto* record = dyn_cast<clang::CXXRecordDecl>(field.getParent());
  if (record == nullptr) return false;
  const clang::SourceManager& sources = field.getASTContext().getSourceManager();
  if (!sources.isInMainFile(sources.getExpansionLoc(field.getLocation()))) return false;
  // A helper class of one function, one file or one class is as good as private.
  const bool own =
      record->isLocalClass() != nullptr || record->isInAnonymousNamespace() || record->getAccess() == clang::AS_private;
  if (!own && field.getAccess() != clang::AS_private) return false;
  // What encloses the class sees the field, too.
  const Written written(field, models, !record->isExternallyVisible());
  for (const auto* around = record; around != nullptr;
       around = dyn_cast<clang::CXXRecordDecl>(around->getDeclContext()))
    if (!written.whole(*around)) return false;
  return true;
}

}  // namespace streamsan::analyzer
