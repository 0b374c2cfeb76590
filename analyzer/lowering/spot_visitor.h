// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A visitor that knows which branches lead to where it is: those around it, and those that would have left the
// function, or the loop, before. Where a branch leaves because a call of CUDA failed, nothing is said of the way past
// it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "analyzer/lowering/field_uses.h"
#include "analyzer/lowering/ways_on.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer {

class SpotVisitor : public clang::DynamicRecursiveASTVisitor {
  using Base = clang::DynamicRecursiveASTVisitor;

 public:
  bool TraverseFunctionDecl(clang::FunctionDecl* f) override {
    return in_function(*f, [&] { return Base::TraverseFunctionDecl(f); });
  }
  bool TraverseCXXMethodDecl(clang::CXXMethodDecl* f) override {
    return in_function(*f, [&] { return Base::TraverseCXXMethodDecl(f); });
  }
  bool TraverseCXXConstructorDecl(clang::CXXConstructorDecl* f) override {
    return in_function(*f, [&] { return Base::TraverseCXXConstructorDecl(f); });
  }
  bool TraverseCXXDestructorDecl(clang::CXXDestructorDecl* f) override {
    return in_function(*f, [&] { return Base::TraverseCXXDestructorDecl(f); });
  }
  bool TraverseCXXConversionDecl(clang::CXXConversionDecl* f) override {
    return in_function(*f, [&] { return Base::TraverseCXXConversionDecl(f); });
  }
  bool TraverseCaseStmt(clang::CaseStmt* label) override { return in_case(*label); }
  bool TraverseDefaultStmt(clang::DefaultStmt* label) override { return in_case(*label); }

  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) override {
    const std::size_t depth = branches_.size();
    const bool go_on = Base::TraverseLambdaExpr(lambda);
    branches_.resize(depth);  // what its body returns from is the lambda
    return go_on;
  }

  bool TraverseIfStmt(clang::IfStmt* choice) override {
    if (choice->isConstexpr() || choice->getCond() == nullptr) return Base::TraverseIfStmt(choice);
    const clang::Expr* condition = choice->getCond();
    meet_condition(*condition);
    if (!TraverseStmt(choice->getInit()) || !TraverseStmt(choice->getConditionVariableDeclStmt()) ||
        !TraverseStmt(choice->getCond())) {
      return false;
    }
    const auto success = tells_success(*condition, models());
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

  bool TraverseConditionalOperator(clang::ConditionalOperator* choice) override {
    meet_condition(*choice->getCond());
    std::vector<Branch> none;
    return TraverseStmt(choice->getCond()) &&
           in_branch({choice, choice->getCond(), true}, choice->getTrueExpr(), none) &&
           in_branch({choice, choice->getCond(), false}, choice->getFalseExpr(), none);
  }

  bool TraverseBinaryOperator(clang::BinaryOperator* operation) override {
    if (!operation->isLogicalOp()) return Base::TraverseBinaryOperator(operation);
    meet_condition(*operation->getLHS());
    if (!TraverseStmt(operation->getLHS())) return false;
    const bool holds = operation->getOpcode() == clang::BO_LAnd;
    if (tells_success(*operation->getLHS(), models()) == holds) return TraverseStmt(operation->getRHS());
    std::vector<Branch> none;
    return in_branch({operation, operation->getLHS(), holds}, operation->getRHS(), none);
  }

  bool TraverseSwitchStmt(clang::SwitchStmt* choice) override {
    if (!TraverseStmt(choice->getInit()) || !TraverseStmt(choice->getConditionVariableDeclStmt()) ||
        !TraverseStmt(choice->getCond())) {
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

  bool TraverseForStmt(clang::ForStmt* loop) override {
    return TraverseStmt(loop->getInit()) && TraverseStmt(loop->getConditionVariableDeclStmt()) &&
           TraverseStmt(loop->getCond()) && in_loop(*loop, loop->getBody(), loop->getInc());
  }

  bool TraverseWhileStmt(clang::WhileStmt* loop) override {
    return TraverseStmt(loop->getConditionVariableDeclStmt()) && TraverseStmt(loop->getCond()) &&
           in_loop(*loop, loop->getBody(), nullptr);
  }

  /// Its body is run once at least.
  bool TraverseDoStmt(clang::DoStmt* loop) override {
    const auto depth = static_cast<std::ptrdiff_t>(branches_.size());
    if (!TraverseStmt(loop->getBody())) return false;
    const auto left = std::remove_if(branches_.begin() + depth, branches_.end(),
                                     [](const Branch& branch) { return branch.way != Way::PastReturn; });
    branches_.erase(left, branches_.end());
    return TraverseStmt(loop->getCond());
  }

  bool TraverseCXXTryStmt(clang::CXXTryStmt* attempt) override {
    ++tries_;
    const bool go_on = Base::TraverseCXXTryStmt(attempt);
    --tries_;
    return go_on;
  }

  /// That something was thrown is no case that a function is written for: leaving it here does not count.
  bool TraverseCXXCatchStmt(clang::CXXCatchStmt* handler) override {
    std::vector<Branch> passed;
    return in_branch({handler}, handler->getHandlerBlock(), passed);
  }

 protected:
  /// Called before a condition is visited.
  virtual void meet_condition(const clang::Expr& condition) = 0;
  [[nodiscard]] virtual const Models& models() const = 0;

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
  template <typename Go>
  bool in_function(const clang::FunctionDecl& function, Go go) {
    functions_.push_back(&function);
    std::vector<Branch> outer = std::exchange(branches_, {});
    const bool outer_failing = std::exchange(failing_, false);
    const unsigned outer_tries = std::exchange(tries_, 0);
    const bool go_on = go();
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
    const bool go_on = TraverseStmt(statement);
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
    if (tells_success(*choice.getCond(), models()) == holds) return;
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
    return TraverseStmt(label.getSubStmt());
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
