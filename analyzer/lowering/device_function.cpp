// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Summaries of device functions, made on demand.
//
// A function that calls itself is met again while it is open: the summary so far is used, and rounds go on until it no
// longer changes. Functions between the two meetings saw something unfinished and are not kept. Bounds on rounds, depth
// and statements make the whole linear in practice; past a bound a function is `unknown`, which callers treat as code
// without a body.
#include "analyzer/lowering/device_function.h"

#include "analyzer/lowering/device_body.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Type.h"

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
    return open_[i].so_far;
  }
  if (open_.size() >= kDeepestCalls) return nullptr;

  const std::size_t own = open_.size();
  open_.push_back({definition, std::make_shared<Summary>(), false});
  Body body(*this, *definition);
  for (unsigned round = 0; round < kMostRounds; ++round) {
    const bool learned = body.round();
    auto next = std::make_shared<Summary>(body.summary());
    const bool changed = *next != *open_[own].so_far;
    open_[own].so_far = std::move(next);
    if (!learned && !changed) break;
  }
  const Open finished = open_.back();
  open_.pop_back();
  if (!finished.unsettled) done_.emplace(definition, finished.so_far);
  return finished.so_far;
}

Body::Body(Summaries& summaries, const clang::FunctionDecl& definition)
    : summaries_(summaries), function_(definition), context_(definition.getASTContext()) {
  marks_ = marks_in(definition);
  for (const clang::ParmVarDecl* parameter : definition.parameters()) memory_.add_parameter(parameter);
  memory_.add_parameter(&kThis);
  if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&definition);
      method && method->getParent()->isLambda()) {
    method->getParent()->getCaptureFields(captures_, captured_this_);
  }
}

bool Body::round() {
  effects_.clear();
  learned_ = false;
  flow_ = {};
  exits_ = kNowhere;
  walk_initializers(false);
  walk(function_.getBody(), false);
  exits_ |= flow_;
  if (memory_.overflowed()) unknown_ = true;
  const bool grew = memory_.grew();
  return grew || learned_;
}

Summary Body::summary() const {
  Summary result;
  result.effects = effects_;
  result.unknown = unknown_;
  result.exits = exits_;
  result.triggers_first = triggers_first_;
  const auto of_caller = [&](const Paths& paths) {
    Paths kept;
    for (const Path& path : paths) {
      if (memory_.is_parameter(path)) kept.insert(path);
    }
    return kept;
  };
  // Only what lies behind a pointer or reference is still there after the call.
  const auto outlives = [&](const Path& path) { return memory_.is_parameter(path) && path.depth() != 0; };
  const auto add = [](Paths& to, Paths what) { to.merge(what); };

  for (const auto& [place, values] : memory_.stored()) {
    if (outlives(place)) add(result.stores[place], of_caller(values));
  }
  // Fields of an object of this function, once it was copied to one of the caller's.
  const auto fields_of = [&](const Path& object, const auto& take) {
    for (const auto& [place, values] : memory_.stored()) {
      if (place.base != object.base || place.steps.size() < object.steps.size()) continue;
      const auto rest = place.steps.begin() + static_cast<std::ptrdiff_t>(object.steps.size());
      if (std::equal(object.steps.begin(), object.steps.end(), place.steps.begin())) {
        take(std::vector<const clang::FieldDecl*>(rest, place.steps.end()), of_caller(values));
      }
    }
  };
  for (const auto& [place, sources] : memory_.copied()) {
    if (!outlives(place)) continue;
    for (const Path& source : sources) {
      if (memory_.is_parameter(source)) {
        result.copies[place].insert(source);
        continue;
      }
      fields_of(source, [&](const std::vector<const clang::FieldDecl*>& fields, Paths values) {
        Path field = place;
        field.steps.insert(field.steps.end(), fields.begin(), fields.end());
        add(result.stores[field], std::move(values));
      });
    }
  }

  for (const clang::ParmVarDecl* parameter : function_.parameters()) {
    if (deciders_.contains(parameter)) result.deciders.insert(parameter->getFunctionScopeIndex());
  }
  result.returns = of_caller(returns_);
  if (!function_.getReturnType()->isRecordType()) return result;
  Paths objects = returns_;
  for (const Path& object : returns_) {
    if (const auto found = memory_.copied().find(object); found != memory_.copied().end()) {
      objects.insert(found->second.begin(), found->second.end());
    }
  }
  add(result.returns, of_caller(objects));
  for (const Path& object : objects) {
    if (memory_.is_parameter(object)) continue;
    fields_of(object, [&](const std::vector<const clang::FieldDecl*>& fields, Paths values) {
      add(result.returned_fields[fields], std::move(values));
    });
  }
  return result;
}

}  // namespace streamsan::analyzer::device
