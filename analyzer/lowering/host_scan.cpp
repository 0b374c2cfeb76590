// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk over a function's statements before its CFG is walked.
//
// The CFG visits subexpressions in the order of their evaluation, so a constructor comes before the variable that it
// makes, the branches of `?:` before the operator, and no element knows the statement it is part of. What an element
// needs to know of its surroundings is collected here.
//
// So is which variables may count the rounds of a loop: those to which nothing happens but that they are set and
// stepped.
//
// Here it is also found out what cannot be lowered at all: an expression that Clang could not understand may have been
// a launch or a synchronisation, an OpenMP task is run at another time by another thread, and a coroutine or a longjmp
// does not go where the CFG says. Such a function is given up, by name, and nothing is said of it. What an OpenMP
// parallel region does is what one of its threads does.
#include "analyzer/lowering/host_scan.h"

#include "analyzer/lowering/host_expressions.h"
#include "analyzer/lowering/type_parts.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/AST/StmtOpenMP.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace streamsan::analyzer::host {

namespace {

bool opens_block_in_file(const clang::CompoundStmt& block) { return block.getLBracLoc().isFileID(); }

/// A statement that contains statements without braces: no line can be put before those.
struct StatementParts {
  bool opens = false;
  const clang::Stmt* head = nullptr;  ///< evaluated once, before: part of the statement around
  llvm::SmallVector<const clang::Stmt*, 2> bodies;
};

StatementParts parts_of(const clang::Stmt& statement) {
  if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(&statement))
    return {true, branch->getCond(), {branch->getThen(), branch->getElse()}};
  if (const auto* choice = llvm::dyn_cast<clang::SwitchStmt>(&statement))
    return {true, choice->getCond(), {choice->getBody()}};
  if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(&statement))
    return {true, loop->getInit(), {loop->getBody(), loop->getInc()}};
  if (const auto* loop = llvm::dyn_cast<clang::CXXForRangeStmt>(&statement))
    return {true, loop->getRangeStmt(), {loop->getBody()}};
  if (const auto* loop = llvm::dyn_cast<clang::WhileStmt>(&statement)) return {true, nullptr, {loop->getBody()}};
  if (const auto* loop = llvm::dyn_cast<clang::DoStmt>(&statement)) return {true, nullptr, {loop->getBody()}};
  if (const auto* label = llvm::dyn_cast<clang::LabelStmt>(&statement)) return {true, nullptr, {label->getSubStmt()}};
  if (const auto* label = llvm::dyn_cast<clang::SwitchCase>(&statement)) return {true, nullptr, {label->getSubStmt()}};
  return {};
}

/// An object of `type` cannot be ended as Clang's control flow graph does it: errors have left the class without one.
bool lacks_destructor(clang::QualType type) {
  const clang::CXXRecordDecl* record = type->getBaseElementTypeUnsafe()->getAsCXXRecordDecl();
  if (record == nullptr) return false;
  return !record->hasDefinition() || record->isInvalidDecl() ||
         (!record->hasTrivialDestructor() && record->getDestructor() == nullptr);
}

}  // namespace

Scan::Scan(const clang::FunctionDecl& function) {
  if (function.isInvalidDecl()) incomplete = "the declaration has errors";
  if (const auto* destructor = llvm::dyn_cast<clang::CXXDestructorDecl>(&function)) {
    const clang::CXXRecordDecl& record = *destructor->getParent();
    if (any_part(record, lacks_destructor)) incomplete = "a member's class has errors";
  }
  if (const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(&function)) {
    for (const clang::CXXCtorInitializer* initializer : constructor->inits()) {
      note_destination(initializer->getInit(), {Destination::Kind::Member, initializer});
      walk(initializer->getInit(), nullptr);
    }
  }
  walk(function.getBody(), nullptr);
  if (!function.isMain()) return;
  if (const auto* body = llvm::dyn_cast<clang::CompoundStmt>(function.getBody()))
    for (const clang::Stmt* child : body->body())
      if (const auto* declarations = llvm::dyn_cast<clang::DeclStmt>(child))
        for (const clang::Decl* declared : declarations->decls())
          if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) until_exit.insert(variable);
}

void Scan::note_destination(const clang::Expr* value, Destination destination) {
  if (value == nullptr) return;
  destinations[strip(value)] = destination;
}

void Scan::note_variable(const clang::VarDecl& variable) {
  if (variable.isInvalidDecl() || (!variable.getType()->isReferenceType() && lacks_destructor(variable.getType())))
    incomplete = "'" + variable.getNameAsString() + "' has errors";
  if (!variable.hasInit() || variable.getType()->isReferenceType()) return;
  note_destination(variable.getInit(), {Destination::Kind::Variable, &variable});
}

void Scan::walk_call(const clang::Stmt& call, const clang::Stmt* enclosing) {
  statements[&call] = enclosing;
  const clang::FunctionDecl* callee = nullptr;
  if (const auto* expression = llvm::dyn_cast<clang::CallExpr>(&call)) callee = expression->getDirectCallee();
  if (callee == nullptr || callee->getIdentifier() == nullptr) return;
  const llvm::StringRef name = callee->getName();
  if (name == "setjmp" || name == "_setjmp" || name == "sigsetjmp" || name == "__sigsetjmp" || name == "longjmp")
    incomplete = name.str() + " leaves the order of statements";
}

void Scan::account_for(const clang::Expr* expression) {
  if (const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenImpCasts()))
    accounted_for_.insert(name);
}

void Scan::note_count(const clang::Stmt& statement) {
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(&statement)) {
    if (unary->isIncrementDecrementOp()) account_for(unary->getSubExpr());
  } else if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(&statement)) {
    const auto code = binary->getOpcode();
    if (code == clang::BO_AddAssign || code == clang::BO_SubAssign || code == clang::BO_Assign)
      account_for(binary->getLHS());
  } else if (const auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(&statement)) {
    // Iterators.
    const auto code = call->getOperator();
    if (code == clang::OO_PlusPlus || code == clang::OO_MinusMinus) account_for(call->getArg(0));
    if (code == clang::OO_Star || code == clang::OO_Arrow || code == clang::OO_Subscript || call->isComparisonOp())
      for (const clang::Expr* read : call->arguments()) account_for(read);
  } else if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(&statement)) {
    const bool made_const = cast->getCastKind() == clang::CK_NoOp && cast->getType().isConstQualified();
    if (cast->getCastKind() == clang::CK_LValueToRValue || made_const) account_for(cast->getSubExpr());
  } else if (const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(&statement);
             name && !accounted_for_.contains(name)) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(name->getDecl());
    if (variable != nullptr && variable->hasLocalStorage()) not_only_counted.insert(variable);
  }
}

void Scan::walk(const clang::Stmt* statement, const clang::Stmt* enclosing) {
  if (statement == nullptr) return;
  if (llvm::isa<clang::CallExpr, clang::CXXConstructExpr, clang::CXXNewExpr, clang::CXXDeleteExpr>(statement))
    walk_call(*statement, enclosing);
  else if (const auto* expression = llvm::dyn_cast<clang::Expr>(statement); expression && enclosing)
    statements[expression] = enclosing;
  note_count(*statement);

  if (const auto* recovery = llvm::dyn_cast<clang::RecoveryExpr>(statement)) {
    if (!recovery->getType()->isDependentType() || incomplete.empty()) incomplete = "an expression could not be parsed";
  } else if (const auto* directive = llvm::dyn_cast<clang::OMPExecutableDirective>(statement)) {
    if (clang::isOpenMPTaskingDirective(directive->getDirectiveKind())) incomplete = "omp tasks are not modelled";
  } else if (llvm::isa<clang::CoroutineBodyStmt, clang::CoreturnStmt, clang::CoroutineSuspendExpr>(statement)) {
    incomplete = "coroutines are not modelled";
  } else if (const auto* assembly = llvm::dyn_cast<clang::GCCAsmStmt>(statement)) {
    if (assembly->isAsmGoto()) incomplete = "asm goto is not modelled";
  } else if (const auto* declarations = llvm::dyn_cast<clang::DeclStmt>(statement)) {
    for (const clang::Decl* declared : declarations->decls())
      if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) note_variable(*variable);
  } else if (const auto* ranged = llvm::dyn_cast<clang::CXXForRangeStmt>(statement)) {
    const auto* begin = ranged->getBeginStmt();
    const auto* range = ranged->getRangeStmt();
    if (begin != nullptr && range != nullptr)
      iterators[llvm::cast<clang::VarDecl>(begin->getSingleDecl())] =
          llvm::cast<clang::VarDecl>(range->getSingleDecl());
  } else if (const auto* choice = llvm::dyn_cast<clang::AbstractConditionalOperator>(statement)) {
    branches[choice->getTrueExpr()->IgnoreParens()] = choice;
    branches[choice->getFalseExpr()->IgnoreParens()] = choice;
    if (values.contains(choice))
      for (const clang::Expr* result : {choice->getTrueExpr(), choice->getFalseExpr()})
        if (const auto* inner = llvm::dyn_cast<clang::AbstractConditionalOperator>(result->IgnoreParens()))
          values.insert(inner);
  } else if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(statement)) {
    if (cast->getCastKind() == clang::CK_LValueToRValue)
      if (const auto* read = llvm::dyn_cast<clang::AbstractConditionalOperator>(cast->getSubExpr()->IgnoreParens()))
        values.insert(read);
  } else if (const auto* result = llvm::dyn_cast<clang::ReturnStmt>(statement)) {
    note_destination(result->getRetValue(), {Destination::Kind::Result, nullptr});
    if (result->getNRVOCandidate() != nullptr) returned[strip(result->getRetValue())] = result->getNRVOCandidate();
  } else if (const auto* allocation = llvm::dyn_cast<clang::CXXNewExpr>(statement)) {
    note_destination(allocation->getInitializer(), {Destination::Kind::New, allocation});
  }

  if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(statement)) {
    for (const clang::Expr* initializer : lambda->capture_inits()) walk(initializer, enclosing);
    return;
  }
  if (const auto* block = llvm::dyn_cast<clang::CompoundStmt>(statement)) {
    const bool shown = opens_block_in_file(*block);
    for (const clang::Stmt* child : block->body()) {
      walk(child, shown ? child : enclosing);
      if (const auto* value = llvm::dyn_cast<clang::Expr>(child)) dropped.insert(strip(value));
    }
    return;
  }
  if (const auto* captured = llvm::dyn_cast<clang::CapturedStmt>(statement))
    return walk(captured->getCapturedStmt(), enclosing);
  const StatementParts parts = parts_of(*statement);
  for (const clang::Stmt* child : statement->children()) {
    // do { ... } while (0) of a macro is one statement to the file.
    const bool stays = !parts.opens || child == parts.head || statement->getBeginLoc().isMacroID();
    walk(child, stays ? enclosing : nullptr);
    if (child != nullptr && llvm::is_contained(parts.bodies, child))
      if (const auto* value = llvm::dyn_cast<clang::Expr>(child)) dropped.insert(strip(value));
  }
}

}  // namespace streamsan::analyzer::host
