// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A check of clang-tidy runs when the parser has reached the end of the file: the parser, its preprocessor and Sema
// still exist then. A second parser on the same Sema sees all declarations of the first one. Three things must be kept
// apart:
//   * pragmas: each parser registers its handlers with the preprocessor, which must not have two of one name. Clang has
//     the same need where its static analyzer reads model files, and a pair of functions for it;
//   * the scope that Sema uses as that of the translation unit;
//   * errors: the text is made by rules that do not know all of C++. Its errors must not count as errors of the
//     program. Suppressed diagnostics do not count, and a trap notices them all the same.
#include "analyzer/interpreter/late_parser.h"

#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Lex/Preprocessor.h"
#include "clang/Parse/Parser.h"
#include "clang/Sema/Sema.h"
#include "llvm/Support/MemoryBuffer.h"

namespace streamsan::analyzer {
namespace {

/// Turns off the search for similar names when a name is unknown: with PyTorch's names it takes half a second.
class NoSuggestions {
 public:
  explicit NoSuggestions(const clang::LangOptions& options)
      : options_(const_cast<clang::LangOptions&>(options)), before_(options.SpellChecking) {
    options_.SpellChecking = false;
  }
  ~NoSuggestions() { options_.SpellChecking = before_; }
  NoSuggestions(const NoSuggestions&) = delete;
  NoSuggestions& operator=(const NoSuggestions&) = delete;

 private:
  clang::LangOptions& options_;
  bool before_;
};

class Silence {
 public:
  explicit Silence(clang::DiagnosticsEngine& engine) : engine_(engine), before_(engine.getSuppressAllDiagnostics()) {
    engine_.setSuppressAllDiagnostics(true);
  }
  ~Silence() { engine_.setSuppressAllDiagnostics(before_); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  clang::DiagnosticsEngine& engine_;
  bool before_;
};

}  // namespace

LateParser::LateParser(clang::Preprocessor& preprocessor) : preprocessor_(preprocessor) {}

bool LateParser::parse(const std::string& text) {
  // A compiler instance is its preprocessor's loader of modules.
  auto& compiler = static_cast<clang::CompilerInstance&>(preprocessor_.getModuleLoader());
  if (!compiler.hasSema()) return false;
  clang::Sema& sema = compiler.getSema();
  const Silence silence(preprocessor_.getDiagnostics());
  const NoSuggestions no_suggestions(sema.getLangOpts());
  const clang::DiagnosticErrorTrap trap(preprocessor_.getDiagnostics());
  clang::DeclContext* const context = sema.CurContext;
  preprocessor_.InitializeForModelFile();
  preprocessor_.EnterSourceFile(
      preprocessor_.getSourceManager().createFileID(llvm::MemoryBuffer::getMemBufferCopy(text, kName)), nullptr, {});
  {
    sema.CurContext = nullptr;
    clang::Parser parser(preprocessor_, sema, /*SkipFunctionBodies=*/false);
    parser.Initialize();
    // Parsing stops before the end of the text: there, the parser would end the translation unit once more.
    while (parser.getCurToken().isNot(clang::tok::eof)) parser.ParseTopLevelDecl();
    sema.DefineUsedVTables();
    sema.PerformPendingInstantiations();
  }
  sema.CurContext = context;
  sema.TUScope = nullptr;
  preprocessor_.FinalizeForModelFile();
  return !trap.hasErrorOccurred();
}

}  // namespace streamsan::analyzer
