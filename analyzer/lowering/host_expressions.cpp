// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands around an expression without changing it: casts, parentheses, temporaries that are made real, copies that
// are left out, default arguments.
#include "analyzer/lowering/host_expressions.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Lex/Lexer.h"

namespace streamsan::analyzer::host {

const clang::Expr* strip(const clang::Expr* expression) {
  for (const clang::Expr* at = expression; at != nullptr;) {
    const clang::Expr* next = nullptr;
    if (const auto* parens = llvm::dyn_cast<clang::ParenExpr>(at)) {
      next = parens->getSubExpr();
    } else if (const auto* cast = llvm::dyn_cast<clang::CastExpr>(at)) {
      next = cast->getSubExpr();
    } else if (const auto* full = llvm::dyn_cast<clang::FullExpr>(at)) {
      next = full->getSubExpr();
    } else if (const auto* temporary = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(at)) {
      next = temporary->getSubExpr();
    } else if (const auto* bound = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(at)) {
      next = bound->getSubExpr();
    } else if (const auto* replaced = llvm::dyn_cast<clang::SubstNonTypeTemplateParmExpr>(at)) {
      next = replaced->getReplacement();
    } else if (const auto* opaque = llvm::dyn_cast<clang::OpaqueValueExpr>(at)) {
      next = opaque->getSourceExpr();
    } else if (const auto* pseudo = llvm::dyn_cast<clang::PseudoObjectExpr>(at)) {
      next = pseudo->getResultExpr();
    } else if (const auto* argument = llvm::dyn_cast<clang::CXXDefaultArgExpr>(at)) {
      next = argument->getExpr();
    } else if (const auto* initializer = llvm::dyn_cast<clang::CXXDefaultInitExpr>(at)) {
      next = initializer->getExpr();
    } else if (const auto* list = llvm::dyn_cast<clang::CXXStdInitializerListExpr>(at)) {
      next = list->getSubExpr();
    } else if (const auto* same = llvm::dyn_cast<clang::InitListExpr>(at); same && same->isTransparent()) {
      next = same->getInit(0);  // T{a T that is returned}
    } else if (const auto* chosen = llvm::dyn_cast<clang::GenericSelectionExpr>(at)) {
      next = chosen->isResultDependent() ? nullptr : chosen->getResultExpr();
    } else if (const auto* choice = llvm::dyn_cast<clang::ChooseExpr>(at)) {
      next = choice->getChosenSubExpr();
    } else if (const auto* comma = llvm::dyn_cast<clang::BinaryOperator>(at); comma && comma->isCommaOp()) {
      next = comma->getRHS();
    } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at);
               unary && (unary->getOpcode() == clang::UO_Extension || unary->getOpcode() == clang::UO_Plus)) {
      next = unary->getSubExpr();
    } else if (const auto* block = llvm::dyn_cast<clang::StmtExpr>(at)) {
      const clang::CompoundStmt* body = block->getSubStmt();
      next = body->body_empty() ? nullptr : llvm::dyn_cast<clang::Expr>(body->body_back());
    } else if (const auto* construction = llvm::dyn_cast<clang::CXXConstructExpr>(at);
               construction && construction->isElidable() && construction->getNumArgs() == 1) {
      next = construction->getArg(0);
    }
    if (next == nullptr) return at;
    at = next;
  }
  return expression;
}

bool narrows(const clang::Expr* expression, const clang::ASTContext& context) {
  const clang::Expr* last = strip(expression);
  for (const clang::Expr* at = expression; at != nullptr && at != last;) {
    if (const auto* cast = llvm::dyn_cast<clang::CastExpr>(at)) {
      const clang::QualType to = cast->getType(), from = cast->getSubExpr()->getType();
      // That `if (i)` asks for a bool says nothing of i.
      const bool asked = llvm::isa<clang::ImplicitCastExpr>(cast) && to->isBooleanType();
      if (!asked && to->isIntegralOrEnumerationType() && from->isIntegralOrEnumerationType() &&
          !to->isDependentType() && !from->isDependentType() &&
          context.getIntWidth(to) < std::min(context.getIntWidth(from), context.getIntWidth(context.IntTy)))
        return true;
      at = cast->getSubExpr();
    } else if (const auto* parens = llvm::dyn_cast<clang::ParenExpr>(at)) {
      at = parens->getSubExpr();
    } else if (const auto* full = llvm::dyn_cast<clang::FullExpr>(at)) {
      at = full->getSubExpr();
    } else {
      return false;
    }
  }
  return false;
}

std::optional<std::uint64_t> fixed_size(clang::QualType type) {
  if (type.isNull()) return std::nullopt;
  if (const auto* array = llvm::dyn_cast_or_null<clang::ConstantArrayType>(type->getAsArrayTypeUnsafe()))
    return array->getSize().getLimitedValue();
  const clang::ClassTemplateSpecializationDecl* record = std_array(type);
  if (record == nullptr) return std::nullopt;
  const clang::TemplateArgument& size = record->getTemplateArgs()[1];
  if (size.getKind() != clang::TemplateArgument::Integral) return std::nullopt;
  return size.getAsIntegral().getLimitedValue();
}

const clang::ClassTemplateSpecializationDecl* std_array(clang::QualType type) {
  if (type.isNull()) return nullptr;
  const auto* record = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
  return record != nullptr && record->getName() == "array" && record->isInStdNamespace() ? record : nullptr;
}

const clang::CXXConstructExpr* construction_of_elements(const clang::CXXConstructorDecl& constructor) {
  if (constructor.getNumParams() != 0) return nullptr;
  for (const clang::CXXCtorInitializer* initializer : constructor.inits()) {
    if (!initializer->isMemberInitializer() || initializer->getInit() == nullptr) continue;
    const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(initializer->getInit()->IgnoreImplicit());
    if (made != nullptr && made->getType()->isConstantArrayType()) return made;
  }
  return nullptr;
}

bool elements_stay(const clang::ClassTemplateSpecializationDecl& array) {
  for (const clang::CXXMethodDecl* method : array.methods()) {
    const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(method);
    const bool assigns = method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator();
    const bool copies = constructor != nullptr ? constructor->isCopyOrMoveConstructor() : assigns;
    const bool swaps = method->getIdentifier() != nullptr && method->getName() == "swap";
    if ((copies || swaps) && method->isUsed(/*CheckUsedAttr=*/false)) return false;
  }
  return true;
}

namespace {

/// a.size() of a std::array, std::size(a): the same whatever is in it.
std::optional<std::int64_t> known_size(const clang::Expr* expression) {
  const auto* call = llvm::dyn_cast<clang::CallExpr>(strip(expression));
  const clang::FunctionDecl* callee = call == nullptr ? nullptr : call->getDirectCallee();
  if (callee == nullptr || callee->getIdentifier() == nullptr || callee->getName() != "size") return std::nullopt;
  const auto* member = llvm::dyn_cast<clang::CXXMemberCallExpr>(call);
  if (member == nullptr && (call->getNumArgs() != 1 || !callee->isInStdNamespace())) return std::nullopt;
  const clang::Expr* of = member != nullptr ? member->getImplicitObjectArgument() : call->getArg(0);
  const clang::QualType type = of->getType();
  const auto size = fixed_size(type->isPointerType() ? type->getPointeeType() : type);
  return size ? std::optional(static_cast<std::int64_t>(*size)) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> constant(const clang::Expr* expression, const clang::ASTContext& context) {
  if (expression == nullptr || expression->isValueDependent() || expression->isTypeDependent()) return std::nullopt;
  if (!expression->getType()->isIntegralOrEnumerationType()) {
    // Handles that are constants: (cudaStream_t)2.
    expression = strip(expression);
    if (!expression->getType()->isIntegralOrEnumerationType()) return std::nullopt;
  }
  clang::Expr::EvalResult result;
  if (!expression->EvaluateAsInt(result, context, clang::Expr::SE_NoSideEffects)) return known_size(expression);
  const llvm::APSInt& integer = result.Val.getInt();
  if (!integer.isRepresentableByInt64()) return std::nullopt;
  return integer.getExtValue();
}

std::string source_text(const clang::Expr* expression, const clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  const llvm::StringRef written = clang::Lexer::getSourceText(
      clang::Lexer::makeFileCharRange(clang::CharSourceRange::getTokenRange(expression->getSourceRange()), sources,
                                      context.getLangOpts()),
      sources, context.getLangOpts());
  constexpr std::size_t kMostCharacters = 80;
  std::string text;
  bool blank = false;
  for (const char c : written) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      blank = !text.empty();
      continue;
    }
    if (blank) text += ' ';
    blank = false;
    text += c;
    if (text.size() >= kMostCharacters) return text + "...";
  }
  return text.empty() ? "(...)" : text;
}

}  // namespace streamsan::analyzer::host
