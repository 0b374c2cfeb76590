// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repairs that are certain.
//
// The words of a finding (analysis/wording*.cpp) propose a repair from what the IR knows. Whether it can be written
// down is a question to the AST, asked here:
//
//   * Each name means one thing. Exactly one variable of the function has it, its scope holds the place, and it is
//     declared before; or no variable of the function has it and it is a member of this object, or one global variable.
//     Members of other objects have to be public. What the name denotes is a handle or converts to one.
//   * It means there what it meant at the other side: a local variable gets its value once in the whole function.
//   * A line can be put before a statement, or a statement be taken out, only in a compound statement: not as the
//     branch of an `if` without braces, not in a loop's head, not after a label.
//   * Only the very call is taken out: `err = cudaStreamSynchronize(s);` stays, since err is somebody's.
//
// In doubt there is no repair; the notes of the finding say what to do. Templates are judged by their pattern: names of
// a dependent type are in doubt.
#include <algorithm>
#include <map>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

#include "analyzer/tidy/places.h"

namespace streamsan::analyzer {
namespace {

using clang::SourceLocation;
using clang::SourceRange;

SourceLocation from_raw(std::uint32_t raw) { return SourceLocation::getFromRawEncoding(raw); }

/// The innermost function around a place, as written: template patterns, not their instantiations.
class EnclosingFunction : public clang::DynamicRecursiveASTVisitor {
 public:
  EnclosingFunction(SourceLocation place, const clang::SourceManager& sources) : place_(place), sources_(sources) {}

  bool TraverseDecl(clang::Decl* decl) override {
    return decl == nullptr || !covers(decl->getSourceRange()) || clang::DynamicRecursiveASTVisitor::TraverseDecl(decl);
  }
  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (function->doesThisDeclarationHaveABody() && covers(function->getBody()->getSourceRange())) {
      found = function;
    }
    return true;
  }
  bool VisitLambdaExpr(clang::LambdaExpr* lambda) override {
    if (covers(lambda->getBody()->getSourceRange())) {
      found = lambda->getCallOperator();
    }
    return true;
  }

  clang::FunctionDecl* found = nullptr;

 private:
  bool covers(SourceRange range) const {
    const SourceRange in_file = sources_.getExpansionRange(range).getAsRange();
    return in_file.isValid() && !sources_.isBeforeInTranslationUnit(place_, in_file.getBegin()) &&
           !sources_.isBeforeInTranslationUnit(in_file.getEnd(), place_);
  }

  SourceLocation place_;
  const clang::SourceManager& sources_;
};

/// The scopes of one function: its variables with the range where each is known, and the statement at one place.
class Scopes {
 public:
  Scopes(clang::FunctionDecl& function, SourceLocation place, const clang::SourceManager& sources)
      : place_(place), sources_(sources) {
    for (clang::ParmVarDecl* parameter : function.parameters()) {
      variables_.push_back({parameter, function.getBody()->getSourceRange()});
      ++values_[parameter];
    }
    walk(function.getBody(), function.getBody()->getSourceRange());
  }

  /// The child of a compound statement that begins at the place.
  [[nodiscard]] const clang::Stmt* statement() const { return statement_; }

  /// The one variable of the function that the name means at the place. False: in doubt. nullptr: it has none.
  bool variable(llvm::StringRef name, const clang::ValueDecl*& result) const {
    result = nullptr;
    for (const auto& [variable, scope] : variables_) {
      if (variable->getName() != name) {
        continue;
      }
      const bool before = sources_.isBeforeInTranslationUnit(variable->getLocation(), place_);
      if (result != nullptr || !before || !holds(scope)) {
        return false;
      }
      result = variable;
    }
    const auto values = values_.find(result);
    return values == values_.end() || values->second <= 1;
  }

 private:
  bool holds(SourceRange scope) const {
    const SourceRange in_file = sources_.getExpansionRange(scope).getAsRange();
    return !sources_.isBeforeInTranslationUnit(place_, in_file.getBegin()) &&
           sources_.isBeforeInTranslationUnit(place_, in_file.getEnd());
  }

  void walk(const clang::Stmt* stmt, SourceRange scope) {
    if (stmt == nullptr) {
      return;
    }
    if (llvm::isa<clang::CompoundStmt, clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::IfStmt,
                  clang::SwitchStmt, clang::CXXForRangeStmt, clang::CXXCatchStmt, clang::LambdaExpr>(stmt)) {
      scope = stmt->getSourceRange();
    }
    if (const auto* compound = llvm::dyn_cast<clang::CompoundStmt>(stmt)) {
      for (const clang::Stmt* child : compound->body()) {
        if (sources_.getExpansionLoc(child->getBeginLoc()) == place_) {
          statement_ = child;
        }
      }
    }
    if (const auto* declarations = llvm::dyn_cast<clang::DeclStmt>(stmt)) {
      for (const clang::Decl* declared : declarations->decls()) {
        if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) {
          variables_.push_back({variable, scope});
          count_value(variable->getInit(), variable);
        }
      }
    }
    if (const auto* assignment = llvm::dyn_cast<clang::BinaryOperator>(stmt);
        assignment && assignment->isAssignmentOp()) {
      count_value(assignment->getRHS(), named(assignment->getLHS()));
    } else if (const auto* call = llvm::dyn_cast<clang::CXXOperatorCallExpr>(stmt);
               call != nullptr && call->isAssignmentOp()) {
      count_value(call->getArg(1), named(call->getArg(0)));
    } else if (const auto* address = llvm::dyn_cast<clang::UnaryOperator>(stmt);
               address != nullptr && address->getOpcode() == clang::UO_AddrOf) {
      count_value(address, named(address->getSubExpr()));
    }
    for (const clang::Stmt* child : stmt->children()) {
      walk(child, scope);
    }
  }

  static const clang::ValueDecl* named(const clang::Expr* expression) {
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(expression->IgnoreParenImpCasts());
    return reference == nullptr ? nullptr : reference->getDecl();
  }

  /// Null does not count, nor the object that a declaration default-constructs: nobody uses that.
  void count_value(const clang::Expr* value, const clang::ValueDecl* variable) {
    if (variable == nullptr || value == nullptr) {
      return;
    }
    const clang::Expr* written = value->IgnoreParenImpCasts();
    const auto* list = llvm::dyn_cast<clang::InitListExpr>(written);
    const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(written);
    const auto* number = llvm::dyn_cast<clang::IntegerLiteral>(written);
    const bool nothing =
        llvm::isa<clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr, clang::ImplicitValueInitExpr>(written) ||
        (number != nullptr && number->getValue().isZero()) || (list != nullptr && list->getNumInits() == 0) ||
        (made != nullptr && made->getNumArgs() == 0);
    values_[variable] += nothing ? 0 : 1;
  }

  SourceLocation place_;
  const clang::SourceManager& sources_;
  std::map<const clang::ValueDecl*, int> values_;
  std::vector<std::pair<const clang::VarDecl*, SourceRange>> variables_;
  const clang::Stmt* statement_ = nullptr;
};

bool is_handle(clang::QualType type) {
  type = type.getNonReferenceType();
  if (type->isPointerType()) {
    return true;
  }
  const clang::CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || !record->hasDefinition()) {
    return false;
  }
  const auto conversions = record->getDefinition()->getVisibleConversionFunctions();
  return std::any_of(conversions.begin(), conversions.end(), [](const clang::NamedDecl* decl) {
    const auto* conversion = llvm::dyn_cast<clang::CXXConversionDecl>(decl->getUnderlyingDecl());
    return conversion != nullptr && !conversion->isExplicit() && conversion->getConversionType()->isPointerType();
  });
}

const clang::FieldDecl* field(const clang::CXXRecordDecl* record, llvm::StringRef name, bool own) {
  if (record == nullptr || !record->hasDefinition()) {
    return nullptr;
  }
  for (const clang::FieldDecl* candidate : record->getDefinition()->fields()) {
    if (candidate->getName() == name && (own || candidate->getAccess() == clang::AS_public)) {
      return candidate;
    }
  }
  return nullptr;
}

/// What a path ("s", "this->streams_[0]", "ctx->stream") denotes at a place; a null type: in doubt.
clang::QualType type_of(llvm::StringRef path, const clang::FunctionDecl& function, const Scopes& scopes,
                        clang::ASTContext& context) {
  const auto take = [&path] {
    const llvm::StringRef word = path.take_while([](char c) { return c == '_' || llvm::isAlnum(c); });
    path = path.drop_front(word.size());
    return word;
  };
  const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  const bool lambda = method != nullptr && method->getParent()->isLambda();
  const clang::CXXRecordDecl* self = method == nullptr || lambda || method->isStatic() ? nullptr : method->getParent();

  llvm::StringRef name = take();
  clang::QualType type;
  if (name == "this" && path.consume_front("->")) {
    name = take();
    const clang::FieldDecl* member = field(self, name, /*own=*/true);
    type = member == nullptr ? clang::QualType{} : member->getType();
  } else {
    const clang::ValueDecl* found = nullptr;
    if (!scopes.variable(name, found)) {
      return {};
    }
    if (found == nullptr) {
      found = field(self, name, /*own=*/true);
    }
    if (found == nullptr) {
      const auto globals = context.getTranslationUnitDecl()->lookup(&context.Idents.get(name));
      found = globals.isSingleResult() ? llvm::dyn_cast<clang::VarDecl>(globals.front()) : nullptr;
    }
    type = found == nullptr ? clang::QualType{} : found->getType();
  }

  while (!type.isNull() && !path.empty()) {
    type = type.getNonReferenceType();
    if (path.consume_front("[")) {
      const clang::Type* element = type->getPointeeOrArrayElementType();
      path = path.drop_front(path.find(']') + 1);
      type = type->isArrayType() || type->isPointerType() ? clang::QualType(element, 0) : clang::QualType{};
      continue;
    }
    const bool arrow = path.consume_front("->");
    if (!arrow && !path.consume_front(".")) {
      return {};
    }
    if (arrow != type->isPointerType()) {
      return {};
    }
    const clang::CXXRecordDecl* record = arrow ? type->getPointeeCXXRecordDecl() : type->getAsCXXRecordDecl();
    const clang::FieldDecl* member = field(record, take(), record == self);
    type = member == nullptr ? clang::QualType{} : member->getType();
  }
  return type;
}

/// What ends a line and begins the next one like it: the newline as this file writes it, and the blanks.
std::string line_break(SourceLocation place, const clang::SourceManager& sources) {
  const auto [file, offset] = sources.getDecomposedLoc(place);
  const llvm::StringRef text = sources.getBufferData(file);
  const std::size_t newline = text.take_front(offset).rfind('\n');
  const llvm::StringRef line = text.drop_front(newline == llvm::StringRef::npos ? 0 : newline + 1);
  const bool carriage_return = line.take_until([](char c) { return c == '\n'; }).ends_with("\r");
  const llvm::StringRef indentation = line.take_while([](char c) { return c == ' ' || c == '\t'; });
  return (carriage_return ? "\r\n" : "\n") + indentation.str();
}

/// The statement with its semicolon; if nothing else stands in its line, that line, from the end of the line before.
/// (Not to its own end: Clang takes a blank behind a removed range along, which would be the next line's first.)
/// Invalid: in doubt.
clang::CharSourceRange whole_statement(const clang::Stmt& statement, const ir::Site& site, clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  if (statement.getBeginLoc().isMacroID()) {
    if (site.in_macro) {
      return {};
    }
  } else {
    const auto* expression = llvm::dyn_cast<clang::Expr>(&statement);
    const auto* call =
        expression == nullptr ? nullptr : llvm::dyn_cast<clang::CallExpr>(expression->IgnoreUnlessSpelledInSource());
    if (call == nullptr || call->getBeginLoc() != from_raw(site.begin)) {
      return {};
    }
  }
  const clang::CharSourceRange written = sources.getExpansionRange(statement.getSourceRange());
  const auto semicolon = clang::Lexer::findNextToken(written.getEnd(), sources, context.getLangOpts());
  if (!semicolon || semicolon->isNot(clang::tok::semi)) {
    return {};
  }
  auto [file, begin] = sources.getDecomposedLoc(written.getBegin());
  unsigned end = sources.getFileOffset(semicolon->getEndLoc());
  const llvm::StringRef text = sources.getBufferData(file);
  const unsigned indented =
      begin - static_cast<unsigned>(text.take_front(begin).size() - text.take_front(begin).rtrim(" \t").size());
  const unsigned blank =
      end + static_cast<unsigned>(
                text.drop_front(end).take_while([](char c) { return c == ' ' || c == '\t' || c == '\r'; }).size());
  const bool alone = indented > 0 && text[indented - 1] == '\n' && blank < text.size() && text[blank] == '\n';
  if (alone) {
    begin = indented - 1;
    end = blank;
  }
  const SourceLocation start = sources.getLocForStartOfFile(file);
  return clang::CharSourceRange::getCharRange(start.getLocWithOffset(static_cast<int>(begin)),
                                              start.getLocWithOffset(static_cast<int>(end)));
}

std::optional<clang::FixItHint> repair(const Fix& fix, clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  const bool whole = fix.kind == Fix::Kind::InsertBefore || fix.kind == Fix::Kind::RemoveStatement;
  const SourceLocation place = from_raw(whole                               ? fix.site.statement
                                        : fix.kind == Fix::Kind::PassStream ? fix.site.stream_begin
                                                                            : fix.site.begin);
  if (place.isInvalid() || !place.isFileID() || sources.isInSystemHeader(place)) {
    return std::nullopt;
  }
  EnclosingFunction around(place, sources);
  for (clang::Decl* each : context.getTranslationUnitDecl()->decls()) around.TraverseDecl(each);
  if (around.found == nullptr) {
    return std::nullopt;
  }
  const Scopes scopes(*around.found, place, sources);
  for (const std::string& name : fix.names) {
    const clang::QualType type = type_of(name, *around.found, scopes, context);
    if (type.isNull() || type->isDependentType() || !is_handle(type)) {
      return std::nullopt;
    }
  }

  const clang::Stmt* statement = scopes.statement();
  if (whole &&
      (statement == nullptr || llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt,
                                         clang::SwitchCase, clang::LabelStmt>(statement))) {
    return std::nullopt;
  }
  switch (fix.kind) {
    case Fix::Kind::InsertBefore:
      return clang::FixItHint::CreateInsertion(place, fix.text + line_break(place, sources));
    case Fix::Kind::RemoveStatement: {
      const clang::CharSourceRange range = whole_statement(*statement, fix.site, context);
      return range.isValid() ? std::optional(clang::FixItHint::CreateRemoval(range)) : std::nullopt;
    }
    case Fix::Kind::ReplaceCall:
      return clang::FixItHint::CreateReplacement(SourceRange(place, from_raw(fix.site.end)), fix.text);
    case Fix::Kind::PassStream:
      if (fix.site.stream_end == 0) {
        return clang::FixItHint::CreateInsertion(place, fix.site.stream_prefix + fix.text);
      }
      return clang::FixItHint::CreateReplacement(SourceRange(place, from_raw(fix.site.stream_end)), fix.text);
  }
  return std::nullopt;
}

}  // namespace

clang::SourceLocation locate(const ir::Site& site, const clang::ASTContext& context) {
  if (site.begin != 0) {
    return from_raw(site.begin);
  }
  const clang::SourceManager& sources = context.getSourceManager();
  const auto file = sources.getFileManager().getOptionalFileRef(site.file);
  if (!file || site.line == 0) {
    return {};
  }
  return sources.translateFileLineCol(&file->getFileEntry(), site.line, site.column == 0 ? 1 : site.column);
}

std::vector<clang::FixItHint> repairs(const std::vector<Fix>& fixes, clang::ASTContext& context) {
  std::vector<clang::FixItHint> hints;
  for (const Fix& fix : fixes) {
    std::optional<clang::FixItHint> hint = repair(fix, context);
    if (!hint) {
      return {};
    }
    hints.push_back(std::move(*hint));
  }
  return hints;
}

}  // namespace streamsan::analyzer
