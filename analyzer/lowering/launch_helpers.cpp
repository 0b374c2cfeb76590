// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches through helpers, which are given the kernel.
//
// Programs put a configuration and its launch into a helper. In its body kernel, stream and arguments are parameters,
// and mean what the caller passes for them; such a call is a launch in the caller. So do the stream and the choice
// whether to overlap, which may come in a structure: its parts are known where the caller's variable is constant.
#include <algorithm>
#include <vector>

#include "analyzer/lowering/launch_arguments.h"
#include "analyzer/lowering/programmatic.h"
#include "analyzer/lowering/symbols.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace streamsan::analyzer::host {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;

/// A launch by a configuration, which may have attributes.
bool is_launch(Symbols& symbols, const clang::FunctionDecl& callee) {
  const Model* model = symbols.known(callee).model;
  return model != nullptr && model->effect.kind == api::EffectKind::LaunchConfig;
}

/// The helper does nothing else in streams: its other calls of the API have no effect there.
bool only_launches(Symbols& symbols, const clang::Stmt* statement) {
  if (statement == nullptr) return true;
  if (llvm::isa<clang::CUDAKernelCallExpr>(statement)) return false;
  if (const auto* call = dyn_cast<clang::CallExpr>(statement))
    if (const clang::FunctionDecl* callee = call->getDirectCallee(); callee != nullptr && callee->getIdentifier()) {
      const Model* model = symbols.known(*callee).model;
      const bool in_api = model != nullptr && model->of_api != ir::Api::None;
      if (in_api && model->action != ActionKind::Nothing && !is_launch(symbols, *callee)) return false;
    }
  return std::all_of(statement->child_begin(), statement->child_end(),
                     [&](const clang::Stmt* child) { return only_launches(symbols, child); });
}

void find_launches(Symbols& symbols, const clang::Stmt* statement, std::vector<const clang::CallExpr*>& found) {
  if (statement == nullptr) return;
  if (const auto* call = dyn_cast<clang::CallExpr>(statement);
      call != nullptr && call->getDirectCallee() != nullptr && is_launch(symbols, *call->getDirectCallee()))
    found.push_back(call);
  for (const clang::Stmt* child : statement->children()) find_launches(symbols, child, found);
}

bool is_assigned(const clang::Stmt* statement, const clang::VarDecl& variable) {
  if (statement == nullptr) return false;
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(statement); binary != nullptr && binary->isAssignmentOp())
    if (const auto* named = dyn_cast<clang::DeclRefExpr>(binary->getLHS()->IgnoreParenImpCasts());
        named != nullptr && named->getDecl() == &variable)
      return true;
  return std::any_of(statement->child_begin(), statement->child_end(),
                     [&](const clang::Stmt* child) { return is_assigned(child, variable); });
}

/// What is assigned to `config.stream`.
const clang::Expr* stream_of(const clang::Stmt* statement, const clang::ValueDecl* config, bool& twice) {
  const clang::Expr* found = nullptr;
  const auto take = [&](const clang::Expr* value) {
    twice = twice || (found != nullptr && value != nullptr);
    if (value != nullptr) found = value;
  };
  if (statement == nullptr) return nullptr;
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(statement); binary != nullptr && binary->isAssignmentOp()) {
    const auto* member = dyn_cast<clang::MemberExpr>(binary->getLHS()->IgnoreParenImpCasts());
    if (member != nullptr && member->getMemberDecl()->getName() == "stream" && root(member) == config)
      take(binary->getRHS());
  }
  if (const auto* declarations = dyn_cast<clang::DeclStmt>(statement))
    for (const clang::Decl* declaration : declarations->decls())
      if (const auto* variable = dyn_cast<clang::VarDecl>(declaration); variable == config && variable->hasInit())
        if (const auto* list = dyn_cast<clang::InitListExpr>(variable->getInit()->IgnoreParenImpCasts()))
          if (const auto* record = list->getType()->getAsRecordDecl())
            for (const clang::FieldDecl* field : record->fields())
              if (field->getName() == "stream" && field->getFieldIndex() < list->getNumInits()) {
                const clang::Expr* item = list->getInit(field->getFieldIndex());
                if (item != nullptr && !llvm::isa<clang::ImplicitValueInitExpr>(item)) take(item);
              }
  for (const clang::Stmt* child : statement->children()) take(stream_of(child, config, twice));
  return found;
}

}  // namespace

const clang::FunctionDecl* kernel_in_variable(const clang::FunctionDecl& function, const clang::Expr& pointer) {
  const auto* reference = dyn_cast_or_null<clang::DeclRefExpr>(plain(&pointer));
  const auto* variable = reference == nullptr ? nullptr : dyn_cast<clang::VarDecl>(reference->getDecl());
  if (variable == nullptr || !variable->hasLocalStorage() || !variable->hasInit() || !function.hasBody() ||
      is_assigned(function.getBody(), *variable))
    return nullptr;
  const auto* named = dyn_cast_or_null<clang::DeclRefExpr>(plain(variable->getInit()));
  const auto* kernel = named == nullptr ? nullptr : dyn_cast<clang::FunctionDecl>(named->getDecl());
  return kernel != nullptr && kernel->hasAttr<clang::CUDAGlobalAttr>() ? kernel : nullptr;
}

std::optional<HelperLaunch> helper_launch(Symbols& symbols, const clang::CallExpr& call) {
  const clang::FunctionDecl* helper = nullptr;
  if (call.getDirectCallee() == nullptr || llvm::isa<clang::CXXOperatorCallExpr>(call) ||
      call.getDirectCallee()->getBody(helper) == nullptr || is_launch(symbols, *helper) || helper->isDependentContext())
    return std::nullopt;
  HelperLaunch result;
  const clang::ParmVarDecl* slot = nullptr;
  for (unsigned i = 0; i < call.getNumArgs() && i < helper->getNumParams(); ++i) {
    const auto* reference = dyn_cast_or_null<clang::DeclRefExpr>(plain(call.getArg(i)));
    const auto* kernel = reference == nullptr ? nullptr : dyn_cast<clang::FunctionDecl>(reference->getDecl());
    if (kernel == nullptr || !kernel->hasAttr<clang::CUDAGlobalAttr>()) continue;
    if (slot != nullptr) return std::nullopt;
    slot = helper->getParamDecl(i);
    result.kernel = kernel;
  }
  if (slot == nullptr) return std::nullopt;
  std::vector<const clang::CallExpr*> launches;
  find_launches(symbols, helper->getBody(), launches);
  if (launches.size() != 1 || launches[0]->getNumArgs() < 2 || root(launches[0]->getArg(1)) != slot)
    return std::nullopt;
  const clang::CallExpr& launch = *launches[0];
  // The one whose arguments are the kernel's.
  const Model* model = symbols.known(*launch.getDirectCallee()).model;
  if (model->first_kernel_argument < 0 || !only_launches(symbols, helper->getBody())) return std::nullopt;
  const HelperCaller caller{.helper = helper, .arguments = arguments_of(call)};
  const clang::ValueDecl* config = root(launch.getArg(0));
  bool twice = false;
  const clang::Expr* stream = plain(stream_of(helper->getBody(), config, twice));
  const auto* part = dyn_cast_or_null<clang::MemberExpr>(stream);
  if (part != nullptr && part->isArrow()) return std::nullopt;
  result.stream = caller.given(part != nullptr ? part->getBase() : stream);
  if (part != nullptr && llvm::isa_and_nonnull<clang::InitListExpr>(plain(result.stream))) {
    result.stream = caller.given_part(*part);
  } else if (part != nullptr) {
    result.stream_field = part->getMemberDecl();
  }
  if (config == nullptr || result.stream == nullptr || twice) return std::nullopt;
  for (unsigned i = 2; i < launch.getNumArgs(); ++i) {
    const clang::Expr* argument = caller.given(launch.getArg(i));
    if (argument == nullptr) return std::nullopt;
    result.arguments.push_back(argument);
  }
  result.programmatic = programmatic(*helper, launch, *launch.getArg(0), caller);
  return result;
}

}  // namespace streamsan::analyzer::host
