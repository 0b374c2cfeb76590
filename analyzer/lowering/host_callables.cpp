// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callbacks that are kept and called later.
//
// Which function it is, callables.cpp knows. What a lambda has captured goes with it from place to place: a
// std::function is an object whose parts are the captures of the closure that was put into it, so copying and moving it
// are what they are for any object. Making or assigning one runs nothing and waits for nothing; it is the call that
// may.
//
// A function that calls what its callers give it (`queue.enqueue([&](cudaStream_t s) {...})`) is lowered once more for
// each such callable, as a template is instantiated for each: there its parameter holds that one.
#include "analyzer/lowering/host_callables.h"

#include <algorithm>

#include "analyzer/lowering/host_assignments.h"
#include "analyzer/lowering/host_builder.h"
#include "analyzer/lowering/host_parts.h"
#include "analyzer/lowering/host_places.h"
#include "analyzer/lowering/host_unit.h"
#include "analyzer/lowering/host_values.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

namespace streamsan::analyzer::host {

namespace {

constexpr std::size_t kMostVersions = 128;  ///< of all functions

}  // namespace

CallbackCalls::CallbackCalls(const Parts& parts)
    : unit_(parts.unit),
      out_(parts.out),
      places_(parts.places),
      values_(parts.values),
      assignments_(parts.assignments) {}

bool CallbackCalls::construct(const Call& call) {
  if (!wraps_callable(call.expression->getType())) return false;
  put(call);
  return true;
}

bool CallbackCalls::apply(const Call& call) {
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(call.callee);
  if (method == nullptr || call.object_expression == nullptr || !wraps_callable(call.object_expression->getType()))
    return false;
  if (llvm::isa<clang::CXXConversionDecl>(call.callee)) return true;  // operator bool
  if (call.callee->getOverloadedOperator() != clang::OO_Equal) return false;
  put(call);
  values_.set_result(*call.expression, value(call.object), call.object);
  return true;
}

void CallbackCalls::put(const Call& call) {
  if (call.object == ir::kNoPlace || call.arguments.size() != 1) return;
  const clang::Expr* given = call.arguments.front();
  if (!given->getType()->isRecordType()) return;  // a pointer to a function, null
  const ir::PlaceId from = places_.place(given);
  if (from == ir::kNoPlace) return out_.emit_fresh(call.object, call.site);
  assignments_.copy_object(call.object, from, given->getType());
}

void CallbackCalls::redirect(Call& call) {
  const clang::Expr* through = call.object_expression;
  if (call.callee == nullptr) {
    const auto* written = llvm::dyn_cast<clang::CallExpr>(call.expression);
    through = written == nullptr ? nullptr : written->getCallee();
  } else if (call.callee->getOverloadedOperator() != clang::OO_Call || through == nullptr ||
             !wraps_callable(through->getType())) {
    return;
  }
  const clang::ValueDecl* slot = through == nullptr ? nullptr : unit_.census.callables().slot(through);
  const clang::FunctionDecl* target = slot == nullptr ? nullptr : unit_.census.callables().target(*slot);
  if (target == nullptr) return;
  if (const clang::FunctionDecl* body = unit_.census.lowered(*target)) target = body;
  call.callee = target;
}

std::string CallbackCalls::version(const Call& call, const std::string& usr) {
  const clang::FunctionDecl* definition = unit_.census.lowered(*call.callee);
  if (definition == nullptr) return usr;
  const Callables& callables = unit_.census.callables();
  Unit::Version made{.definition = definition, .bindings = {}, .usr = usr};
  for (unsigned i = 0; i < call.arguments.size() && i < definition->getNumParams(); ++i) {
    const clang::ParmVarDecl* parameter = definition->getParamDecl(i);
    if (!callables.can_be_bound(*parameter)) continue;
    const clang::FunctionDecl* runs = callables.given(*call.arguments[i]);
    if (runs == nullptr || callables.target(*parameter) == runs) continue;
    made.bindings.emplace_back(parameter, runs);
    made.usr += " given " + unit_.usr(*runs);
  }
  if (made.bindings.empty()) return usr;
  if (unit_.version_usrs.contains(made.usr)) return made.usr;
  if (unit_.version_usrs.size() == kMostVersions) return usr;
  unit_.version_usrs.insert(made.usr);
  unit_.versions.push_back(made);
  return made.usr;
}

bool CallbackCalls::given(const Call& call) {
  return std::ranges::any_of(call.arguments,
                             [](const clang::Expr* argument) { return wraps_callable(argument->getType()); });
}

}  // namespace streamsan::analyzer::host
