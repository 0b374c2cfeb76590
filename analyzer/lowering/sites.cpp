// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a call stands in the file.
//
// CUDA code wraps its calls in macros: CHECK(cudaMemcpyAsync(...)). A call that is an argument of a macro stands where
// the file has it, not where the macro's definition mentions its parameter; that is where the user reads it, and a
// repair inside of it is certain. A call that the macro's body writes stands at the macro's use, and nothing inside of
// it can be repaired. A header that renames functions (`#define cuMemAlloc cuMemAlloc_v2`) makes a name, not a call:
// the call is judged by its closing parenthesis.
//
// The statement around a call is a child of a compound statement that the file shows: in front of it, and behind it, a
// line can be put. Blocks that a macro's body opens (do { ... } while (0)) do not count.
#include "analyzer/lowering/sites.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

namespace streamsan::analyzer {

namespace {

using clang::SourceLocation;

SourceLocation closing(const clang::Stmt& what) {
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(&what)) return call->getRParenLoc();
  return what.getEndLoc();
}

}  // namespace

SourceLocation Sites::in_file(SourceLocation location, bool* in_macro) const {
  const clang::SourceManager& sources = context_.getSourceManager();
  while (location.isMacroID()) {
    if (sources.isMacroArgExpansion(location)) {
      location = sources.getImmediateSpellingLoc(location);
    } else {
      if (in_macro != nullptr) *in_macro = true;
      location = sources.getImmediateExpansionRange(location).getBegin();
    }
  }
  return location;
}

bool Sites::written(SourceLocation location) const {
  while (location.isMacroID()) {
    if (!context_.getSourceManager().isMacroArgExpansion(location)) return false;
    location = context_.getSourceManager().getImmediateSpellingLoc(location);
  }
  return true;
}

void Sites::set_place(ir::Site& site, SourceLocation location) const {
  const clang::SourceManager& sources = context_.getSourceManager();
  if (location.isInvalid()) return;
  const auto [file, offset] = sources.getDecomposedLoc(location);
  if (const auto entry = sources.getFileEntryRefForID(file)) site.file = entry->getName().str();
  site.line = sources.getLineNumber(file, offset);
  site.column = sources.getColumnNumber(file, offset);
}

ir::Site Sites::at(SourceLocation location) const {
  ir::Site site;
  location = in_file(location, &site.in_macro);
  set_place(site, location);
  site.begin = site.end = location.getRawEncoding();
  return site;
}

ir::Site Sites::of(const clang::Stmt& what, const clang::Stmt* statement) const {
  ir::Site site;
  const SourceLocation begin = in_file(what.getBeginLoc());
  const SourceLocation end = in_file(closing(what).isValid() ? closing(what) : what.getEndLoc(), &site.in_macro);
  set_place(site, begin);
  site.begin = begin.getRawEncoding();
  site.end = end.getRawEncoding();
  if (statement == nullptr) return site;
  const clang::SourceManager& sources = context_.getSourceManager();
  const clang::SourceRange range = sources.getExpansionRange(statement->getSourceRange()).getAsRange();
  site.statement = range.getBegin().getRawEncoding();
  site.statement_end = range.getEnd().getRawEncoding();
  const auto next = clang::Lexer::findNextToken(range.getEnd(), sources, context_.getLangOpts());
  if (next && next->is(clang::tok::semi)) site.statement_end = next->getLocation().getRawEncoding();
  return site;
}

void Sites::set_stream(ir::Site& site, const clang::Expr& written) const {
  site.stream_begin = in_file(written.getBeginLoc()).getRawEncoding();
  site.stream_end = in_file(written.getEndLoc()).getRawEncoding();
}

void Sites::add_stream_slot(ir::Site& site, const clang::CUDAKernelCallExpr& launch) const {
  const clang::CallExpr* config = launch.getConfig();
  if (config == nullptr || config->getNumArgs() < 4) return;
  if (!llvm::isa<clang::CXXDefaultArgExpr>(config->getArg(3))) return set_stream(site, *config->getArg(3));
  bool in_macro = false;
  const SourceLocation place = in_file(config->getRParenLoc(), &in_macro);
  if (in_macro || place.isInvalid()) return;
  site.stream_begin = place.getRawEncoding();
  site.stream_prefix = llvm::isa<clang::CXXDefaultArgExpr>(config->getArg(2)) ? ", 0, " : ", ";
}

void Sites::add_stream_slot(ir::Site& site, const clang::CallExpr& call, unsigned position) const {
  if (position >= call.getNumArgs()) return;
  if (!llvm::isa<clang::CXXDefaultArgExpr>(call.getArg(position))) return set_stream(site, *call.getArg(position));
  for (unsigned before = 0; before < position; ++before)
    if (llvm::isa<clang::CXXDefaultArgExpr>(call.getArg(before))) return;
  bool in_macro = false;
  const SourceLocation place = in_file(call.getRParenLoc(), &in_macro);
  if (in_macro || place.isInvalid()) return;
  site.stream_begin = place.getRawEncoding();
  site.stream_prefix = position == 0 ? "" : ", ";
}

}  // namespace streamsan::analyzer
