// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interpreter only sees code that was generated, and of that the code that it ran. No code is generated for a
// template without an instance, or an inline method that nothing in the file calls. Such code may record events for
// users of the file's classes. So the syntax tree is searched as well, patterns of templates included.
#include "analyzer/interpreter/record_calls.h"

#include <utility>

#include "analyzer/interpreter/ways_to_wait.h"
#include "analyzer/lowering/symbols.h"
#include "analyzer/models/host_calls.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer {
namespace {

class Visitor : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Visitor(Symbols& symbols) : symbols_(symbols), sources_(symbols.context().getSourceManager()) {}

  bool TraverseDecl(clang::Decl* declaration) override {
    if (declaration == nullptr) return true;
    const bool is_outer = declaration->getDeclContext() == nullptr || declaration->getDeclContext()->isFileContext();
    if (is_outer && !llvm::isa<clang::TranslationUnitDecl>(declaration) && symbols_.in_system_header(*declaration))
      return true;
    return clang::DynamicRecursiveASTVisitor::TraverseDecl(declaration);
  }

  bool VisitCallExpr(clang::CallExpr* call) override {
    const clang::Expr* callee = call->getCallee()->IgnoreParenImpCasts();
    if (const clang::FunctionDecl* function = call->getDirectCallee()) {
      const Model* model = symbols_.known(*function).model;
      if (model != nullptr && model->effect.kind == api::EffectKind::EventRecord) add(*call);
      found.hidden |= function->getIdentifier() != nullptr && host_call(function->getName()) == HostCall::RecordNode;
    } else if (const auto* names = llvm::dyn_cast<clang::OverloadExpr>(callee)) {
      if (says_record(names->getName())) add(*call);
    } else if (const auto* member = llvm::dyn_cast<clang::CXXDependentScopeMemberExpr>(callee)) {
      if (says_record(member->getMember())) add(*call);
    }
    return true;
  }
  /// cudaLaunchAttributeEvent, cudaLaunchAttributeLaunchCompletionEvent, and those of the driver.
  bool VisitDeclRefExpr(clang::DeclRefExpr* named) override {
    const auto* constant = llvm::dyn_cast<clang::EnumConstantDecl>(named->getDecl());
    if (constant == nullptr || constant->getIdentifier() == nullptr) return true;
    const llvm::StringRef name = constant->getName();
    found.hidden |= name.contains_insensitive("launch") && name.contains_insensitive("attribute") &&
                    name.contains_insensitive("event");
    return true;
  }
  /// record(first ? a : b), cudaEvent_t all[] = {a, b}: which event is recorded depends on values.
  bool VisitConditionalOperator(clang::ConditionalOperator* choice) override {
    found.hidden |= is_event(choice->getType());
    return true;
  }
  bool VisitInitListExpr(clang::InitListExpr* list) override {
    for (const clang::Expr* element : list->inits())
      found.hidden |= is_event(element->getType()) && llvm::isa<clang::DeclRefExpr>(element->IgnoreParenImpCasts());
    return true;
  }
  bool VisitCXXRecordDecl(clang::CXXRecordDecl* record) override {
    if (!record->isThisDeclarationADefinition() || record->isLambda() || record->isDependentContext()) return true;
    for (const clang::CXXMethodDecl* method : record->methods()) {
      if (method->getAccess() == clang::AS_private || method->isImplicit() || method->isDeleted() ||
          method->isStatic() || method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator() ||
          llvm::isa<clang::CXXConstructorDecl>(method))
        continue;
      found.given_out |= gives_event(method->getReturnType());
      // A class that implements it may record the event that it gets.
      for (const clang::ParmVarDecl* parameter : method->parameters())
        found.given_out |= method->isPureVirtual() ? gives_event(parameter->getType()) : fills_event(*parameter);
    }
    // A struct is what methods give. A class is extended, or its fields are used.
    if (!record->isAggregate())
      for (const clang::FieldDecl* field : record->fields())
        found.given_out |= field->getAccess() != clang::AS_private && gives_event(field->getType());
    return true;
  }

  RecordCalls found;

 private:
  static bool says_record(clang::DeclarationName name) {
    return name.isIdentifier() && llvm::StringRef(name.getAsString()).contains_insensitive("record");
  }
  bool is_event(clang::QualType type) { return symbols_.kind(type) == ir::TypeKind::Event; }
  /// The type is a reference or pointer to an event. A handle is passed by value, also as CUevent_st*.
  bool fills_event(const clang::ParmVarDecl& parameter) {
    const clang::QualType pointee = parameter.getType()->getPointeeType();
    if (pointee.isNull() || pointee.isConstQualified()) return false;
    const clang::CXXRecordDecl* record = pointee->getAsCXXRecordDecl();
    return (record == nullptr || record->hasDefinition()) && gives_event(pointee);
  }
  bool gives_event(clang::QualType type) {
    return symbols_.kind(type.getNonReferenceType()) != ir::TypeKind::Stream && may_wait(symbols_, type);
  }
  void add(const clang::CallExpr& call) { found.places.push_back(sources_.getExpansionLoc(call.getExprLoc())); }

  Symbols& symbols_;
  const clang::SourceManager& sources_;
};

}  // namespace

RecordCalls record_calls(Symbols& symbols) {
  Visitor visitor(symbols);
  visitor.TraverseDecl(symbols.context().getTranslationUnitDecl());
  return std::move(visitor.found);
}

}  // namespace streamsan::analyzer
