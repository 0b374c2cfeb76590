// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/interpreter/look_alikes.h"

#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/Hashing.h"

namespace streamsan::analyzer {

/// What a function is made of, in the order in which it stands there. Names of parameters say what they mean, so they are
/// part of it (caller_numbers.h).
class Shape : public clang::RecursiveASTVisitor<Shape> {
 public:
  explicit Shape(LookAlikes& all) : all_(all) {}
  LookAlikes::Words words;

  void add_parameters(const clang::FunctionDecl& function) {
    for (const clang::ParmVarDecl* parameter : function.parameters()) {
      add(parameter->getType().getCanonicalType().getAsOpaquePtr());
      add(llvm::hash_value(parameter->getName()));
    }
  }

  // Clang's names.
  bool VisitStmt(clang::Stmt* statement) {
    words.push_back(statement->getStmtClass());
    return true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* expression) { return add(*expression->getDecl()); }
  bool VisitMemberExpr(clang::MemberExpr* expression) { return add(*expression->getMemberDecl()); }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* expression) { return add(*expression->getConstructor()); }
  bool VisitIntegerLiteral(clang::IntegerLiteral* literal) {
    // Not __LINE__, which the preprocessor spells.
    const bool is_line = all_.sources_.isWrittenInScratchSpace(all_.sources_.getSpellingLoc(literal->getLocation()));
    return is_line || add(llvm::hash_value(literal->getValue()));
  }
  bool VisitCXXBoolLiteralExpr(clang::CXXBoolLiteralExpr* literal) {
    words.push_back(literal->getValue() ? 1 : 0);
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* operation) {
    words.push_back(operation->getOpcode());
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) {
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
  Shape shape(*this);
  shape.add_parameters(definition);
  if (!definition.hasAttr<clang::CUDAGlobalAttr>()) shape.TraverseStmt(definition.getBody());
  return known_[&definition] = shapes_.try_emplace(std::move(shape.words), shapes_.size() + 1).first->second;
}

LookAlikes::Number LookAlikes::callee(const clang::FunctionDecl& function) {
  const clang::FunctionDecl* pattern = function.getTemplateInstantiationPattern();
  const clang::FunctionDecl* definition = nullptr;
  const bool is_template = pattern != nullptr;
  if (!is_template && function.hasBody(definition) &&
      sources_.isInMainFile(sources_.getExpansionLoc(definition->getLocation())))
    return shape_of(*definition);
  return reinterpret_cast<Number>((is_template ? pattern : &function)->getCanonicalDecl());
}

}  // namespace streamsan::analyzer
