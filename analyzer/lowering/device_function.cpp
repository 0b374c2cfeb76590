// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Summaries of device functions, made on demand.
//
// A function that calls itself is met again while it is open: the summary so far is used, and rounds go on until it no
// longer changes. Functions between the two meetings saw something unfinished and are not kept. One that is not met
// again needs another round only if a question was asked too early in this one: the answer has changed since. Code
// mostly sets a variable before it uses it, so most functions need one round. That matters where a file has hundreds of
// instances of a kernel. Bounds on rounds, depth and statements make the whole linear in practice; past a bound of
// depth or statements a function is `unknown`, which callers treat as code without a body.
#include "analyzer/lowering/device_function.h"

#include "analyzer/lowering/device_body.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Stmt.h"

namespace streamsan::analyzer::device {
namespace {

constexpr unsigned kMostRounds = 8;

}  // namespace

std::shared_ptr<const Summary> Summaries::of(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* definition = nullptr;
  if (function.isDependentContext() || function.getBody(definition) == nullptr) return nullptr;
  if (const auto found = done_.find(definition); found != done_.end()) return found->second;
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (open_[i].function != definition) continue;
    for (std::size_t inner = i + 1; inner < open_.size(); ++inner) open_[inner].unsettled = true;
    open_[i].met_again = true;
    return open_[i].so_far;
  }
  if (open_.size() >= kDeepestCalls) return nullptr;

  const std::size_t own = open_.size();
  open_.push_back({.function = definition, .so_far = std::make_shared<Summary>()});
  Body body(*this, *definition);
  for (unsigned round = 0; round < kMostRounds; ++round) {
    const bool learned = body.round();
    auto next = std::make_shared<Summary>(body.summary());
    const bool changed = *next != *open_[own].so_far;
    open_[own].so_far = std::move(next);
    if (!learned && (!changed || !open_[own].met_again)) break;
  }
  const Open finished = open_.back();
  open_.pop_back();
  if (!finished.unsettled) done_.emplace(definition, finished.so_far);
  return finished.so_far;
}

const std::vector<Mark>& Summaries::marks(const clang::FunctionDecl& definition) {
  const unsigned begin = definition.getBody()->getBeginLoc().getRawEncoding();
  const auto [known, is_new] = marks_.try_emplace(begin);
  if (is_new) known->second = marks_in(definition);
  return known->second;
}

}  // namespace streamsan::analyzer::device
