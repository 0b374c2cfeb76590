// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/interpreter/look_alikes.h"

#include <set>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/Hashing.h"

namespace streamsan::analyzer {
namespace {

/// The pointer parameters that a kernel writes through, or passes on.
class Written : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Written(const clang::FunctionDecl& kernel) { TraverseStmt(kernel.getBody()); }
  std::set<const clang::ValueDecl*> parameters;

  // Clang's names.
  bool VisitBinaryOperator(clang::BinaryOperator* operation) override {
    if (operation->isAssignmentOp()) mark(operation->getLHS());
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) override {
    if (operation->isIncrementDecrementOp() || operation->getOpcode() == clang::UO_AddrOf)
      mark(operation->getSubExpr());
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    for (clang::Expr* argument : call->arguments()) mark(argument);
    return true;
  }
  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (variable->getInit() != nullptr && variable->getType()->isPointerType()) mark(variable->getInit());
    return true;
  }

 private:
  void mark(clang::Stmt* part) {
    if (part == nullptr) return;
    if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(part)) parameters.insert(named->getDecl());
    for (clang::Stmt* child : part->children()) mark(child);
  }
};

}  // namespace

/// The shape of a function: its kinds of statements, types, names and values, in source order.
class FunctionShape : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit FunctionShape(LookAlikes& all) : all_(all) {}
  LookAlikes::Words words;

  void add_parameters(const clang::FunctionDecl& function) {
    for (const clang::ParmVarDecl* parameter : function.parameters()) add_variable(*parameter);
  }
  /// The shape of a kernel: which parameters may be written, and which are only read.
  void add_uses(const clang::FunctionDecl& kernel) {
    const Written written(kernel);
    for (const clang::ParmVarDecl* parameter : kernel.parameters())
      words.push_back(written.parameters.contains(parameter) ? 1 : 0);
  }

  // Clang's names.
  bool VisitStmt(clang::Stmt* statement) override {
    words.push_back(statement->getStmtClass());
    return true;
  }
  bool VisitExpr(clang::Expr* expression) override { return add_type(expression->getType()); }
  bool VisitVarDecl(clang::VarDecl* variable) override {
    words.push_back(variable->getStorageClass() + (variable->getTSCSpec() << 8U));
    return add_variable(*variable);
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* expression) override { return add(*expression->getDecl()); }
  bool VisitMemberExpr(clang::MemberExpr* expression) override { return add(*expression->getMemberDecl()); }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* expression) override {
    return add(*expression->getConstructor());
  }
  bool VisitCXXDefaultArgExpr(clang::CXXDefaultArgExpr* expression) override {
    return TraverseStmt(expression->getExpr());
  }
  bool VisitCXXDefaultInitExpr(clang::CXXDefaultInitExpr* expression) override {
    return TraverseStmt(expression->getExpr());
  }
  bool VisitUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr* trait) override {
    words.push_back(trait->getKind());
    return !trait->isArgumentType() || add_type(trait->getArgumentType());
  }
  bool VisitOffsetOfExpr(clang::OffsetOfExpr* offset) override {
    for (unsigned i = 0; i < offset->getNumComponents(); ++i)
      if (offset->getComponent(i).getKind() == clang::OffsetOfNode::Field) add(offset->getComponent(i).getField());
    return true;
  }
  bool VisitIntegerLiteral(clang::IntegerLiteral* literal) override {
    // Not __LINE__, which the preprocessor spells.
    const bool is_line = all_.sources_.isWrittenInScratchSpace(all_.sources_.getSpellingLoc(literal->getLocation()));
    return is_line || add(llvm::hash_value(literal->getValue()));
  }
  bool VisitFloatingLiteral(clang::FloatingLiteral* literal) override { return add(hash_value(literal->getValue())); }
  bool VisitCharacterLiteral(clang::CharacterLiteral* literal) override {
    words.push_back(literal->getValue());
    return true;
  }
  bool VisitStringLiteral(clang::StringLiteral* literal) override { return add(llvm::hash_value(literal->getBytes())); }
  bool VisitCXXBoolLiteralExpr(clang::CXXBoolLiteralExpr* literal) override {
    words.push_back(literal->getValue() ? 1 : 0);
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* operation) override {
    words.push_back(operation->getOpcode());
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) override {
    words.push_back(operation->getOpcode());
    return true;
  }

 private:
  bool add(const void* pointer) {
    words.push_back(reinterpret_cast<LookAlikes::Number>(pointer));
    return true;
  }
  bool add(llvm::hash_code hash) {
    words.push_back(static_cast<std::size_t>(hash));
    return true;
  }
  bool add_type(clang::QualType type) { return add(type.getCanonicalType().getAsOpaquePtr()); }
  /// Names count because callers choose numbers by them (caller_numbers.h).
  bool add_variable(const clang::VarDecl& variable) {
    return add_type(variable.getType()) && add(llvm::hash_value(variable.getName()));
  }
  bool add(const clang::ValueDecl& named) {
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&named)) {
      words.push_back(all_.callee(*function));
      return true;
    }
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(&named);
    return variable != nullptr && variable->isLocalVarDeclOrParm() ? add(llvm::hash_value(variable->getName()))
                                                                   : add(named.getCanonicalDecl());
  }

  LookAlikes& all_;
};

bool LookAlikes::is_one_more(const clang::FunctionDecl& function) {
  constexpr int kEnough = 2;
  return asked_[shape_of(function)]++ >= kEnough;
}

LookAlikes::Number LookAlikes::shape_of(const clang::FunctionDecl& definition) {
  const auto [known, fresh] = known_.try_emplace(&definition, 0);  // 0: it calls itself
  if (!fresh) return known->second;
  FunctionShape shape(*this);
  shape.add_parameters(definition);
  if (definition.hasAttr<clang::CUDAGlobalAttr>()) {
    shape.add_uses(definition);
  } else {
    if (const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(&definition))
      for (const clang::CXXCtorInitializer* each : constructor->inits()) shape.TraverseStmt(each->getInit());
    shape.TraverseStmt(definition.getBody());
  }
  return known_[&definition] = shapes_.try_emplace(std::move(shape.words), shapes_.size() + 1).first->second;
}

LookAlikes::Number LookAlikes::callee(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* definition = nullptr;
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  const bool is_virtual = method != nullptr && method->isVirtual();
  if (!is_virtual && !function.isDefaulted() && function.hasBody(definition) &&
      !sources_.isInSystemHeader(sources_.getExpansionLoc(definition->getLocation())))
    return shape_of(*definition);
  return reinterpret_cast<Number>(function.getCanonicalDecl());
}

}  // namespace streamsan::analyzer
