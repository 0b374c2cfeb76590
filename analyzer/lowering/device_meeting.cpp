// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See device_meeting.h. Volatile loads are of system scope (PTX ISA, "Memory Consistency Model"), but they are as often
// written for one device, so they count as a load that waits, and not as a sign of the scope.
#include "analyzer/lowering/device_meeting.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "analyzer/lowering/device_limits.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/Stmt.h"
#include "llvm/ADT/STLExtras.h"

namespace streamsan::analyzer::device {
namespace {

using llvm::dyn_cast;

/// The words of an assembly statement, or of a call's name, that say what it does.
struct Signs {
  bool load = false;    ///< that sees what others store meanwhile
  bool system = false;  ///< for all devices
};

/// Of cuda::atomic<T>, cuda::atomic_ref<T, cuda::thread_scope_system> and those of std, which have that scope.
bool is_system_atomic(const clang::CXXMemberCallExpr& call) {
  const auto* of = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(
      call.getImplicitObjectArgument()->IgnoreParenImpCasts()->getType()->getAsCXXRecordDecl());
  if (of == nullptr || !of->getName().starts_with("atomic")) return false;
  const clang::TemplateArgumentList& arguments = of->getTemplateArgs();
  return arguments.size() < 2 || arguments[1].getKind() != clang::TemplateArgument::Integral ||
         arguments[1].getAsIntegral() == 0;  // cuda::thread_scope_system
}

Signs signs_of(const clang::Stmt& statement) {
  if (const auto* assembly = dyn_cast<clang::GCCAsmStmt>(&statement)) {
    const std::string text = assembly->getAsmString();
    const llvm::StringRef words = text;
    return {.load = words.contains("ld.acquire") || words.contains("ld.relaxed") || words.contains("ld.volatile"),
            .system = words.contains(".sys")};
  }
  if (const auto* converted = dyn_cast<clang::ImplicitCastExpr>(&statement))
    return {.load = converted->getCastKind() == clang::CK_LValueToRValue &&
                    converted->getSubExpr()->getType().isVolatileQualified()};
  const auto* call = dyn_cast<clang::CallExpr>(&statement);
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  if (callee == nullptr || callee->getIdentifier() == nullptr) return {};
  const llvm::StringRef name = callee->getName();
  if (const auto* method = dyn_cast<clang::CXXMemberCallExpr>(call)) {
    const bool system = is_system_atomic(*method);
    static constexpr std::array<llvm::StringRef, 3> kLoads = {"load", "test", "wait"};
    return {.load = system && llvm::is_contained(kLoads, name), .system = system};
  }
  return {.load = name.starts_with("atomic"), .system = name.ends_with("_system") || name.ends_with("_sys")};
}

constexpr unsigned kDeepestCondition = 4;

/// Itself, or what it calls.
bool loads(const clang::Stmt* statement, unsigned deep) {
  if (statement == nullptr || deep > kDeepestCondition) return false;
  if (signs_of(*statement).load) return true;
  const auto* call = dyn_cast<clang::CallExpr>(statement);
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  const clang::FunctionDecl* definition = nullptr;
  if (callee != nullptr && callee->hasBody(definition) && loads(definition->getBody(), deep + 1)) return true;
  return std::ranges::any_of(statement->children(), [&](const clang::Stmt* child) { return loads(child, deep); });
}

/// `if (flag != 0) break;`
bool ends_by_load(const clang::Stmt* body) {
  if (body == nullptr) return false;
  if (const auto* choice = dyn_cast<clang::IfStmt>(body); choice != nullptr && leaves(choice->getThen()))
    return loads(choice->getCond(), 0);
  return std::ranges::any_of(body->children(), ends_by_load);
}

template <typename Loop>
bool waits_as(const clang::Stmt& statement) {
  const auto* loop = dyn_cast<Loop>(&statement);
  return loop != nullptr && (loads(loop->getCond(), 0) || ends_by_load(loop->getBody()));
}

bool has_waiting_loop(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  return waits_as<clang::WhileStmt>(*statement) || waits_as<clang::DoStmt>(*statement) ||
         waits_as<clang::ForStmt>(*statement) || std::ranges::any_of(statement->children(), has_waiting_loop);
}

/// A function and those that it calls.
struct Reached {
  static constexpr std::size_t kMost = 200;
  std::set<const clang::FunctionDecl*> definitions;
  bool system = false;

  void add(const clang::FunctionDecl& function) {
    const clang::FunctionDecl* definition = nullptr;
    if (definitions.size() < kMost && function.hasBody(definition) && definitions.insert(definition).second)
      look(definition->getBody());
  }

 private:
  void look(const clang::Stmt* statement) {
    if (statement == nullptr) return;
    system |= signs_of(*statement).system;
    if (const auto* call = dyn_cast<clang::CallExpr>(statement))
      if (const clang::FunctionDecl* callee = call->getDirectCallee()) add(*callee);
    for (const clang::Stmt* child : statement->children()) look(child);
  }
};

}  // namespace

bool meets_others(const clang::FunctionDecl& kernel) {
  Reached reached;
  reached.add(kernel);
  return reached.system && std::ranges::any_of(reached.definitions, [](const clang::FunctionDecl* each) {
           return has_waiting_loop(each->getBody());
         });
}

}  // namespace streamsan::analyzer::device
