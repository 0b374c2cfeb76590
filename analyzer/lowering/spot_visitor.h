// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A visitor that knows which branches lead to where it is: those around it, and those that would have left the
// function, or the loop, before. Where a branch leaves because a call of CUDA failed, nothing is said of the way past
// it.
//
// Derived has meet_condition(const clang::Expr&), called before a condition is visited, and models().
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "analyzer/lowering/field_uses.h"
#include "analyzer/lowering/ways_on.h"
#include "clang/AST/RecursiveASTVisitor.h"

namespace streamsan::analyzer {

template <typename Derived>
class SpotVisitor : public clang::RecursiveASTVisitor<Derived> {
  using Base = clang::RecursiveASTVisitor<Derived>;

 public:
  using typename Base::DataRecursionQueue;

  bool TraverseFunctionDecl(clang::FunctionDecl* f) { return in_function(f, &Base::TraverseFunctionDecl); }
  bool TraverseCXXMethodDecl(clang::CXXMethodDecl* f) { return in_function(f, &Base::TraverseCXXMethodDecl); }
  bool TraverseCXXConstructorDecl(clang::CXXConstructorDecl* f) {
    return in_function(f, &Base::TraverseCXXConstructorDecl);
  }
  bool TraverseCXXDestructorDecl(clang::CXXDestructorDecl* f) {
    return in_function(f, &Base::TraverseCXXDestructorDecl);
  }
  bool TraverseCXXConversionDecl(clang::CXXConversionDecl* f) {
    return in_function(f, &Base::TraverseCXXConversionDecl);
  }
  bool TraverseCaseStmt(clang::CaseStmt* label) { return in_case(*label); }
  bool TraverseDefaultStmt(clang::DefaultStmt* label) { return in_case(*label); }

  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) {
    const std::size_t depth = branches_.size();
    const bool go_on = Base::TraverseLambdaExpr(lambda);
    branches_.resize(depth);  // what its body returns from is the lambda
    return go_on;
  }

  bool TraverseIfStmt(clang::IfStmt* choice) {
    if (choice->isConstexpr() || choice->getCond() == nullptr) return Base::TraverseIfStmt(choice);
    const clang::Expr* condition = choice->getCond();
    this->getDerived().meet_condition(*condition);
    if (!this->TraverseStmt(choice->getInit()) || !this->TraverseStmt(choice->getConditionVariableDeclStmt()) ||
        !this->TraverseStmt(choice->getCond())) {
      return false;
    }
    const auto success = tells_success(*condition, this->getDerived().models());
    std::vector<Branch> passed;
    const auto side = [&](bool holds, clang::Stmt* statement) {
      const bool left = leaves(statement).has_value();
      std::vector<Branch> inside;
      const bool outer = std::exchange(failing_, failing_ || (left && success == !holds));
      const bool go_on = in_branch({choice, condition, holds}, statement, inside);
      failing_ = outer;
      if (!left) passed.insert(passed.end(), inside.begin(), inside.end());
      return go_on;
    };
    if (!side(true, choice->getThen()) || !side(false, choice->getElse())) return false;
    go_on_past(passed);
    const auto then = leaves(choice->getThen()), otherwise = leaves(choice->getElse());
    if (then && !otherwise) pass(*choice, false, *then);
    if (otherwise && !then) pass(*choice, true, *otherwise);
    return true;
  }

  bool TraverseConditionalOperator(clang::ConditionalOperator* choice) {
    this->getDerived().meet_condition(*choice->getCond());
    std::vector<Branch> none;
    return this->TraverseStmt(choice->getCond()) &&
           in_branch({choice, choice->getCond(), true}, choice->getTrueExpr(), none) &&
           in_branch({choice, choice->getCond(), false}, choice->getFalseExpr(), none);
  }

  bool TraverseBinaryOperator(clang::BinaryOperator* operation, DataRecursionQueue* queue = nullptr) {
    if (!operation->isLogicalOp()) return Base::TraverseBinaryOperator(operation, queue);
    this->getDerived().meet_condition(*operation->getLHS());
    if (!this->TraverseStmt(operation->getLHS())) return false;
    const bool holds = operation->getOpcode() == clang::BO_LAnd;
    if (tells_success(*operation->getLHS(), this->getDerived().models()) == holds)
      return this->TraverseStmt(operation->getRHS());
    std::vector<Branch> none;
    return in_branch({operation, operation->getLHS(), holds}, operation->getRHS(), none);
  }

  bool TraverseSwitchStmt(clang::SwitchStmt* choice) {
    if (!this->TraverseStmt(choice->getInit()) || !this->TraverseStmt(choice->getConditionVariableDeclStmt()) ||
        !this->TraverseStmt(choice->getCond())) {
      return false;
    }
    std::vector<Branch> passed;
    const std::size_t outer = std::exchange(case_, branches_.size());
    const bool go_on = in_branch({choice}, choice->getBody(), passed);
    case_ = outer;
    std::erase_if(passed, [](const Branch& branch) { return branch.way == Way::PastBreak; });
    go_on_past(passed);
    if (case_leaves(choice->getBody())) branches_.push_back({.choice = choice, .way = Way::PastReturn});
    return go_on;
  }

  bool TraverseForStmt(clang::ForStmt* loop) {
    return this->TraverseStmt(loop->getInit()) && this->TraverseStmt(loop->getConditionVariableDeclStmt()) &&
           this->TraverseStmt(loop->getCond()) && in_loop(*loop, loop->getBody(), loop->getInc());
  }

  bool TraverseWhileStmt(clang::WhileStmt* loop) {
    return this->TraverseStmt(loop->getConditionVariableDeclStmt()) && this->TraverseStmt(loop->getCond()) &&
           in_loop(*loop, loop->getBody(), nullptr);
  }

  /// Its body is run once at least.
  bool TraverseDoStmt(clang::DoStmt* loop) {
    const auto depth = static_cast<std::ptrdiff_t>(branches_.size());
    if (!this->TraverseStmt(loop->getBody())) return false;
    const auto left = std::remove_if(branches_.begin() + depth, branches_.end(),
                                     [](const Branch& branch) { return branch.way != Way::PastReturn; });
    branches_.erase(left, branches_.end());
    return this->TraverseStmt(loop->getCond());
  }

  bool TraverseCXXTryStmt(clang::CXXTryStmt* attempt) {
    ++tries_;
    const bool go_on = Base::TraverseCXXTryStmt(attempt);
    --tries_;
    return go_on;
  }

  /// That something was thrown is no case that a function is written for: leaving it here does not count.
  bool TraverseCXXCatchStmt(clang::CXXCatchStmt* handler) {
    std::vector<Branch> passed;
    return in_branch({handler}, handler->getHandlerBlock(), passed);
  }

 protected:
  [[nodiscard]] Spot here() { return {functions_.empty() ? nullptr : functions_.back(), branches_, ++spots_}; }
  /// The function it is in, if any.
  [[nodiscard]] const clang::FunctionDecl* function() const { return functions_.empty() ? nullptr : functions_.back(); }
  /// In a branch that leaves because a call of CUDA failed.
  [[nodiscard]] bool failing() const { return failing_; }

  bool in_loop(clang::Stmt& loop, clang::Stmt* body, clang::Stmt* step) {
    std::vector<Branch> passed;
    const Branch inside{.choice = &loop, .way = Way::Loop};
    if (!in_branch(inside, body, passed) || !in_branch(inside, step, passed)) return false;
    std::erase_if(passed, [](const Branch& branch) { return branch.way != Way::PastReturn; });
    go_on_past(passed);
    return true;
  }

 private:
  template <typename Function>
  bool in_function(Function* function, bool (Base::*traverse)(Function*)) {
    functions_.push_back(function);
    std::vector<Branch> outer = std::exchange(branches_, {});
    const bool outer_failing = std::exchange(failing_, false);
    const unsigned outer_tries = std::exchange(tries_, 0);
    const bool go_on = (this->*traverse)(function);
    branches_ = std::move(outer);
    failing_ = outer_failing;
    tries_ = outer_tries;
    functions_.pop_back();
    return go_on;
  }

  /// `passed`: what in the branch led past what comes after it. What was known there is not known any more.
  bool in_branch(Branch branch, clang::Stmt* statement, std::vector<Branch>& passed) {
    const std::size_t depth = branches_.size();
    branches_.push_back(branch);
    const bool go_on = this->TraverseStmt(statement);
    for (std::size_t i = depth + 1; i < branches_.size(); ++i) {
      passed.push_back(branches_[i]);
      passed.back().condition = nullptr;
    }
    branches_.resize(depth);
    return go_on;
  }

  void pass(const clang::IfStmt& choice, bool holds, Leaving leaving) {
    // No object is left where its constructor threw, and no program where it ended.
    const bool constructs =
        !functions_.empty() && llvm::isa<clang::CXXConstructorDecl>(functions_.back()) && tries_ == 0;
    if (leaving == Leaving::Program || (leaving == Leaving::Throw && constructs)) return;
    if (tells_success(*choice.getCond(), this->getDerived().models()) == holds) return;
    const Way way = leaving == Leaving::Break      ? Way::PastBreak
                    : leaving == Leaving::Continue ? Way::PastContinue
                                                   : Way::PastReturn;
    branches_.push_back({&choice, choice.getCond(), holds, way});
  }

  /// All that stands behind the label, not only the statement that it labels.
  bool in_case(clang::SwitchCase& label) {
    if (case_ < branches_.size()) {
      branches_[case_].choice = &label;
      for (std::size_t i = case_ + 1; i < branches_.size(); ++i) branches_[i].condition = nullptr;
    }
    return this->TraverseStmt(label.getSubStmt());
  }

  void go_on_past(const std::vector<Branch>& passed) {
    branches_.insert(branches_.end(), passed.begin(), passed.end());
  }

  std::vector<Branch> branches_;
  std::size_t case_ = 0;  ///< the one of branches_ that is the `case` of the innermost switch
  bool failing_ = false;
  unsigned tries_ = 0;  ///< around it in the function
  unsigned spots_ = 0;
  std::vector<const clang::FunctionDecl*> functions_;
};

}  // namespace streamsan::analyzer
