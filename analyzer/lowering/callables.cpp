// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What callbacks run.
//
// A slot is a variable, parameter or field that holds a pointer to a function, or a std::function. A call through it is
// the call of a function that is known if everything that is ever put into the slot is in sight, and is one function
// or one lambda: `on_ready_ = [this] { launch(); };` and, in another method, `on_ready_();`.
//
// The census reads each statement of the translation unit once; here it is noted what is put into which slot. Other
// translation units can put something into what they can name: a variable with external linkage, the parameter of a
// function with external linkage, the field of a class in a header unless it is private and all the class's functions
// are in sight. So these are not known. Nor is a slot whose address is taken or that is bound to a reference that may
// change it. Null is no function: a call through it would end the program.
//
// Which closure it is, with what it captured, is a matter of places: host_callables.cpp.
#include "analyzer/lowering/callables.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace streamsan::analyzer {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

/// Without what changes neither the value nor where it lies; explicit casts stay.
const clang::Expr* bare(const clang::Expr* expression) {
  return expression == nullptr ? nullptr : expression->IgnoreUnlessSpelledInSource()->IgnoreParenImpCasts();
}

const clang::ValueDecl* key(const clang::ValueDecl& slot) {
  return llvm::cast<clang::ValueDecl>(slot.getCanonicalDecl());
}

bool holds_callable(clang::QualType type) {
  if (type.isNull() || type->isDependentType()) return false;
  return type.getNonReferenceType()->isFunctionPointerType() || wraps_callable(type);
}

const clang::FunctionDecl* body_of_closure(clang::QualType type) {
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (record == nullptr || !record->isLambda() || record->getDependentLambdaCallOperator() != nullptr) return nullptr;
  return record->getLambdaCallOperator();
}

}  // namespace

bool wraps_callable(clang::QualType type) {
  const clang::CXXRecordDecl* record = Symbols::record(type);
  if (record == nullptr || record->getIdentifier() == nullptr || !record->isInStdNamespace()) return false;
  const llvm::StringRef name = record->getName();
  return name == "function" || name == "move_only_function" || name == "copyable_function";
}

const clang::ValueDecl* Callables::slot(const clang::Expr* expression) const {
  const clang::Expr* at = bare(expression);
  // (*pointer)(...)
  if (const auto* unary = dyn_cast_or_null<clang::UnaryOperator>(at);
      unary != nullptr && unary->getOpcode() == clang::UO_Deref && unary->getType()->isFunctionType())
    at = bare(unary->getSubExpr());
  const clang::ValueDecl* named = nullptr;
  if (const auto* reference = dyn_cast_or_null<clang::DeclRefExpr>(at)) named = reference->getDecl();
  if (const auto* member = dyn_cast_or_null<clang::MemberExpr>(at)) named = member->getMemberDecl();
  const bool variable = named != nullptr && isa<clang::VarDecl, clang::FieldDecl>(named);
  return variable && holds_callable(named->getType()) ? key(*named) : nullptr;
}

void Callables::read_value(Held& held, const clang::Expr* value) const {
  const clang::Expr* at = bare(value);
  if (at == nullptr) return;
  if (at->isNullPointerConstant(symbols_.context(), clang::Expr::NPC_ValueDependentIsNotNull)) return;
  if (const clang::FunctionDecl* body = body_of_closure(at->getType())) {
    held.functions.push_back(body->getCanonicalDecl());
  } else if (const auto* list = dyn_cast<clang::InitListExpr>(at); list != nullptr && list->getNumInits() <= 1) {
    if (list->getNumInits() == 1) read_value(held, list->getInit(0));
  } else if (const auto* made = dyn_cast<clang::CXXConstructExpr>(at); made != nullptr && made->getNumArgs() <= 1) {
    if (made->getNumArgs() == 1) read_value(held, made->getArg(0));
  } else if (const auto* choice = dyn_cast<clang::ConditionalOperator>(at)) {
    read_value(held, choice->getTrueExpr());
    read_value(held, choice->getFalseExpr());
  } else if (const auto* unary = dyn_cast<clang::UnaryOperator>(at);
             unary != nullptr && (unary->getOpcode() == clang::UO_AddrOf || unary->getOpcode() == clang::UO_Plus)) {
    // &function; +[] {...}
    const clang::Expr* of = bare(unary->getSubExpr());
    const auto* named = dyn_cast<clang::DeclRefExpr>(of);
    const bool known =
        body_of_closure(of->getType()) != nullptr || (named != nullptr && isa<clang::FunctionDecl>(named->getDecl()));
    if (known) return read_value(held, of);
    held.unknown = true;
  } else if (const auto* named = dyn_cast<clang::DeclRefExpr>(at);
             named != nullptr && isa<clang::FunctionDecl>(named->getDecl())) {
    held.functions.push_back(llvm::cast<clang::FunctionDecl>(named->getDecl())->getCanonicalDecl());
  } else if (const auto* call = dyn_cast<clang::CallExpr>(at);
             call != nullptr && call->getNumArgs() == 1 && call->isCallToStdMove()) {
    read_value(held, call->getArg(0));
  } else if (const clang::ValueDecl* other = slot(at)) {
    held.copied.push_back(other);
  } else {
    held.unknown = true;
  }
}

void Callables::read_initial(const clang::ValueDecl& slot, const clang::Expr* value) {
  if (!holds_callable(slot.getType())) return;
  Held held = std::move(held_[key(slot)]);
  read_value(held, value);
  held_[key(slot)] = std::move(held);
}

void Callables::read_parameter(const clang::FunctionDecl& callee, unsigned position, const clang::Expr& argument) {
  if (position >= callee.getNumParams()) return;
  const clang::ParmVarDecl* parameter = callee.getParamDecl(position);
  const clang::QualType type = parameter->getType();
  // Whom it is given to as a reference can put something else there.
  if (type->isLValueReferenceType() && !type->getPointeeType().isConstQualified()) {
    if (!callee.isInStdNamespace() || callee.getNumParams() != 1) open(&argument);
  }
  const clang::FunctionDecl* definition = nullptr;
  if (!holds_callable(type) || !callee.hasBody(definition)) return;
  read_initial(*definition->getParamDecl(position), &argument);
}

void Callables::open(const clang::Expr* expression) {
  if (const clang::ValueDecl* named = slot(expression)) {
    held_[named].unknown = true;
    reassigned_.insert(named);
  }
}

void Callables::read(const clang::Stmt& statement) {
  if (const auto* binary = dyn_cast<clang::BinaryOperator>(&statement)) {
    if (binary->getOpcode() == clang::BO_Assign)
      if (const clang::ValueDecl* named = slot(binary->getLHS())) {
        reassigned_.insert(named);
        read_initial(*named, binary->getRHS());
      }
  } else if (const auto* assigned = dyn_cast<clang::CXXOperatorCallExpr>(&statement)) {
    if (assigned->getOperator() == clang::OO_Equal && assigned->getNumArgs() == 2)
      if (const clang::ValueDecl* named = slot(assigned->getArg(0))) {
        reassigned_.insert(named);
        read_initial(*named, assigned->getArg(1));
      }
  } else if (const auto* member = dyn_cast<clang::CXXMemberCallExpr>(&statement)) {
    // swap(), target()
    const clang::CXXMethodDecl* method = member->getMethodDecl();
    if (method != nullptr && !isa<clang::CXXConversionDecl>(method)) open(member->getImplicitObjectArgument());
  } else if (const auto* unary = dyn_cast<clang::UnaryOperator>(&statement)) {
    if (unary->getOpcode() == clang::UO_AddrOf) open(unary->getSubExpr());
  } else if (const auto* list = dyn_cast<clang::InitListExpr>(&statement)) {
    const clang::CXXRecordDecl* record = Symbols::record(list->getType());
    if (record == nullptr || !record->hasDefinition() || record->getNumBases() > 0) return;
    unsigned next = 0;
    for (const clang::FieldDecl* field : record->fields())
      if (next < list->getNumInits()) read_initial(*field, list->getInit(next++));
  } else if (const auto* lambda = dyn_cast<clang::LambdaExpr>(&statement)) {
    for (const clang::LambdaCapture& capture : lambda->captures())
      if (capture.capturesVariable())
        if (const auto* made = dyn_cast<clang::VarDecl>(capture.getCapturedVar());
            made != nullptr && made->isInitCapture())
          read_initial(*made, made->getInit());
  } else if (const auto* declarations = dyn_cast<clang::DeclStmt>(&statement)) {
    for (const clang::Decl* declared : declarations->decls()) {
      const auto* variable = dyn_cast<clang::VarDecl>(declared);
      if (variable == nullptr) continue;
      const clang::QualType type = variable->getType();
      if (type->isReferenceType() && !type->getPointeeType().isConstQualified()) open(variable->getInit());
      read_initial(*variable, variable->getInit());
    }
  }
}

bool Callables::closed(const clang::ValueDecl& slot) const {
  const clang::SourceManager& sources = symbols_.context().getSourceManager();
  const auto ours = [&](const clang::Decl& declared) {
    return sources.isInMainFile(sources.getExpansionLoc(declared.getLocation()));
  };
  const auto class_closed = [&](const clang::CXXRecordDecl& record) {
    return record.isLambda() || record.isLocalClass() != nullptr || record.isInAnonymousNamespace() || ours(record);
  };
  if (const auto* parameter = dyn_cast<clang::ParmVarDecl>(&slot)) {
    const auto* function = dyn_cast<clang::FunctionDecl>(parameter->getDeclContext());
    if (function == nullptr || function->isMain()) return false;
    const auto* method = dyn_cast<clang::CXXMethodDecl>(function);
    if (method != nullptr && method->isVirtual()) return false;
    return !function->isExternallyVisible() || (method != nullptr && class_closed(*method->getParent()));
  }
  if (const auto* variable = dyn_cast<clang::VarDecl>(&slot))
    return variable->isLocalVarDecl() || variable->isInitCapture() || !variable->isExternallyVisible();
  const auto* field = dyn_cast<clang::FieldDecl>(&slot);
  const auto* record = field == nullptr ? nullptr : dyn_cast<clang::CXXRecordDecl>(field->getParent());
  if (record == nullptr) return false;
  if (class_closed(*record)) return true;
  if (field->getAccess() != clang::AS_private || record->hasFriends()) return false;
  return std::ranges::all_of(record->methods(), [](const clang::CXXMethodDecl* method) {
    return method->hasBody() || method->isDefaulted() || method->isDeleted() || method->isPureVirtual();
  });
}

std::vector<const clang::FunctionDecl*> Callables::seen_in(const clang::ValueDecl& slot) const {
  std::vector<const clang::FunctionDecl*> all;
  llvm::SmallPtrSet<const clang::ValueDecl*, 8> seen;
  std::vector<const clang::ValueDecl*> work{key(slot)};
  while (!work.empty()) {
    const auto found = held_.find(work.back());
    const bool fresh = seen.insert(work.back()).second;
    work.pop_back();
    if (!fresh || found == held_.end()) continue;
    all.insert(all.end(), found->second.functions.begin(), found->second.functions.end());
    work.insert(work.end(), found->second.copied.begin(), found->second.copied.end());
  }
  return all;
}

const clang::FunctionDecl* Callables::given(const clang::Expr& value) const {
  Held held;
  read_value(held, &value);
  if (held.unknown || held.functions.size() + held.copied.size() != 1) return nullptr;
  return held.functions.empty() ? target(*held.copied.front()) : held.functions.front();
}

void Callables::bind(const Bindings& bindings) {
  bound_.clear();
  for (const auto& [parameter, function] : bindings) bound_[key(*parameter)] = function;
}

bool Callables::can_be_bound(const clang::ParmVarDecl& parameter) const {
  return holds_callable(parameter.getType()) && !reassigned_.contains(key(parameter));
}

const clang::FunctionDecl* Callables::target(const clang::ValueDecl& slot) const {
  const clang::FunctionDecl* only = nullptr;
  llvm::SmallPtrSet<const clang::ValueDecl*, 8> seen;
  std::vector<const clang::ValueDecl*> work{key(slot)};
  while (!work.empty()) {
    const clang::ValueDecl* at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    if (const auto bound = bound_.find(at); bound != bound_.end()) {
      if (only != nullptr && only != bound->second) return nullptr;
      only = bound->second;
      continue;
    }
    const auto found = held_.find(at);
    if (found == held_.end() || found->second.unknown || !closed(*at)) return nullptr;
    for (const clang::FunctionDecl* function : found->second.functions) {
      if (only != nullptr && only != function) return nullptr;
      only = function;
    }
    work.insert(work.end(), found->second.copied.begin(), found->second.copied.end());
  }
  return only;
}

}  // namespace streamsan::analyzer
