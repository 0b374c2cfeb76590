// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creation and use of handle fields, compared. The essay is in field_ownership.h.
#include "analyzer/lowering/field_ownership.h"

#include <algorithm>
#include <map>
#include <set>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;

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

/// Whether every way through one of the functions makes the field: an `else` that makes it as well closes the gap.
bool on_all_ways(std::set<std::vector<std::pair<const clang::Expr*, bool>>> ways) {
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

bool makes_always(const std::vector<const Making*>& makings) {
  std::set<std::vector<std::pair<const clang::Expr*, bool>>> ways;
  for (const Making* making : makings) {
    std::vector<std::pair<const clang::Expr*, bool>> way;
    for (const Branch& branch : making->spot.branches) way.emplace_back(branch.condition, branch.holds);
    ways.insert(std::move(way));
  }
  return on_all_ways(std::move(ways));
}

/// Makes, ends or moves an object: null is what is left, not what is used.
bool may_leave_null(const clang::FunctionDecl& function) {
  if (llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(function)) return true;
  const auto* method = dyn_cast<clang::CXXMethodDecl>(&function);
  return method != nullptr && method->isMoveAssignmentOperator();
}

}  // namespace

bool made_before_use(const clang::FieldDecl& field, const Uses& uses, const Calls& calls) {
  const auto* container = field.getType()->getAsCXXRecordDecl();
  if (container != nullptr && container->isInStdNamespace() && container->getName() == "vector") return true;

  std::map<const clang::FunctionDecl*, std::vector<const Making*>> by_function;
  for (const Making& making : uses.makings) by_function[making.spot.function].push_back(&making);
  const bool left_null = std::ranges::any_of(uses.cleared, [&](const Spot& cleared) {
    if (cleared.function == nullptr || may_leave_null(*cleared.function)) return false;
    const auto same = [&](const Spot& spot) { return spot.function == cleared.function; };
    if (std::ranges::any_of(uses.destroyed, same)) return false;
    const auto makings = by_function.find(cleared.function);
    return makings == by_function.end() || !makes_always(makings->second);
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

}  // namespace streamsan::analyzer
