// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fields for a stream that nobody ever gives one.
//
//     struct Launch { dim3 grid, block; cudaStream_t stream = nullptr; };
//
// Who makes such an object and names no stream has left it out, as one who launches without a fourth argument. That
// shows only where all code that could name one is in sight: the class is of the main file, says null of the field
// itself, and nothing in the file does more with the field than read its value. A written null is a choice, and so is a
// question (`if (launch.stream)`): who asks knows that it may be null. Objects that the standard library makes in place
// from several arguments may be given one there.
#include "analyzer/lowering/unset_streams.h"

#include "analyzer/lowering/fields.h"
#include "analyzer/lowering/own_code_visitor.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"

namespace streamsan::analyzer {
namespace {

using clang::dyn_cast;
using clang::dyn_cast_or_null;
using clang::isa;

class UnsetStreams : public OwnCodeVisitor {
 public:
  using OwnCodeVisitor::OwnCodeVisitor;

  bool VisitFieldDecl(clang::FieldDecl* field) override {
    if (!is_stream(field)) return true;
    const clang::SourceManager& sources = symbols_.context().getSourceManager();
    const clang::Expr* own = field->getInClassInitializer();
    if (own != nullptr && is_null(*own) && sources.isInMainFile(sources.getExpansionLoc(field->getLocation())))
      null_.insert(field_key(*field));
    else
      set(field);
    return true;
  }
  bool VisitCXXConstructorDecl(clang::CXXConstructorDecl* constructor) override {
    for (const clang::CXXCtorInitializer* initializer : constructor->inits())
      if (initializer->isWritten()) set(initializer->getMember());
    return true;
  }
  bool VisitInitListExpr(clang::InitListExpr* list) override {
    // The written form names no fields.
    const clang::InitListExpr* whole = list->isSemanticForm() ? list : list->getSemanticForm();
    if (whole != nullptr) fill(whole->getType(), whole->inits());
    return true;
  }
  bool VisitCXXParenListInitExpr(clang::CXXParenListInitExpr* list) override {
    fill(list->getType(), list->getInitExprs());
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) override {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee == nullptr || !callee->isInStdNamespace() || call->getNumArgs() < 2) return true;
    if (const auto* given = callee->getTemplateSpecializationArgs()) made_in_place(given->asArray());
    if (const auto* of = dyn_cast<clang::ClassTemplateSpecializationDecl>(callee->getDeclContext()))
      made_in_place(of->getTemplateArgs().asArray());
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* comparison) override {
    if (!comparison->isComparisonOp()) return true;
    for (const clang::Expr* side : {comparison->getLHS(), comparison->getRHS()}) set(named(*side));
    return true;
  }
  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) override {
    if (cast->getCastKind() == clang::CK_PointerToBoolean) set(named(*cast));
    if (cast->getCastKind() == clang::CK_LValueToRValue) read_.insert(cast->getSubExpr()->IgnoreParens());
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* member) override {
    if (!read_.contains(member) && !member->getType().isConstQualified())
      set(dyn_cast<clang::FieldDecl>(member->getMemberDecl()));
    return true;
  }
  /// `&Launch::stream`
  bool VisitDeclRefExpr(clang::DeclRefExpr* name) override {
    set(dyn_cast<clang::FieldDecl>(name->getDecl()));
    return true;
  }
  bool VisitBindingDecl(clang::BindingDecl* part) override {
    if (part->getBinding() != nullptr) set(named(*part->getBinding()));
    return true;
  }

  std::set<std::string> found() {
    for (const std::string& key : set_) null_.erase(key);
    return std::move(null_);
  }

 private:
  bool is_stream(const clang::FieldDecl* field) const {
    return field != nullptr && field->getType()->isPointerType() &&
           handle_kind(field->getType(), symbols_.models()) == ir::TypeKind::Stream;
  }
  bool is_null(const clang::Expr& value) const {
    const clang::Expr* plain = value.IgnoreParenImpCasts();
    if (const auto* list = dyn_cast<clang::InitListExpr>(plain)) {
      if (list->getNumInits() == 0) return true;
      plain = list->getInit(0)->IgnoreParenImpCasts();
    }
    return isa<clang::ImplicitValueInitExpr>(plain) ||
           plain->isNullPointerConstant(symbols_.context(), clang::Expr::NPC_ValueDependentIsNotNull) !=
               clang::Expr::NPCK_NotNull;
  }
  /// The field that an expression names; nullptr: none.
  static const clang::FieldDecl* named(const clang::Expr& expression) {
    const auto* member = dyn_cast<clang::MemberExpr>(expression.IgnoreParenImpCasts());
    return member == nullptr ? nullptr : dyn_cast<clang::FieldDecl>(member->getMemberDecl());
  }
  void set(const clang::FieldDecl* field) {
    if (is_stream(field)) set_.insert(field_key(*field));
  }
  void fill(clang::QualType type, llvm::ArrayRef<clang::Expr*> values) {
    const clang::CXXRecordDecl* record = Symbols::record(type);
    if (record == nullptr || !record->hasDefinition() || record->isUnion()) return;
    std::size_t next = record->getNumBases();
    for (const clang::FieldDecl* field : record->fields()) {
      if (field->isUnnamedBitField()) continue;
      if (next >= values.size()) return;
      const clang::Expr* value = values[next++];  // none where the list has an error
      if (value == nullptr || !isa<clang::CXXDefaultInitExpr, clang::ImplicitValueInitExpr>(value)) set(field);
    }
  }
  void made_in_place(llvm::ArrayRef<clang::TemplateArgument> arguments) {
    for (const clang::TemplateArgument& argument : arguments) {
      if (argument.getKind() != clang::TemplateArgument::Type) continue;
      const clang::CXXRecordDecl* record = Symbols::record(argument.getAsType());
      if (record == nullptr || !record->hasDefinition() || !record->isAggregate()) continue;
      for (const clang::FieldDecl* field : record->fields()) set(field);
    }
  }

  std::set<std::string> null_, set_;
  std::set<const clang::Expr*> read_;
};

}  // namespace

std::set<std::string> unset_streams(Symbols& symbols) {
  UnsetStreams search(symbols);
  search.TraverseDecl(symbols.context().getTranslationUnitDecl());
  return search.found();
}

}  // namespace streamsan::analyzer
