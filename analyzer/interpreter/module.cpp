// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clang's parser hands declarations to the code generator one by one. Here the whole AST exists already, so the
// declarations that the parser would have announced are searched in it. A namespace announces its own contents, but not
// instances of templates, nor the classes that have their virtual table in this file.
#include "analyzer/interpreter/module.h"

#include <utility>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclGroup.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/Basic/CodeGenOptions.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/SourceManager.h"
#include "clang/CodeGen/ModuleBuilder.h"
#include "clang/Lex/HeaderSearchOptions.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/BuryPointer.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace streamsan::analyzer {
namespace {

bool ends_soon = false;  // process_ends_soon()

/// Announces instances of templates, and classes with a virtual table.
class Announcer : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Announcer(clang::CodeGenerator& generator) : generator_(generator) {
    ShouldVisitTemplateInstantiations = true;
  }

  // Clang's names.
  bool TraverseStmt(clang::Stmt*) override { return true; }
  bool TraverseTypeLoc(clang::TypeLoc, bool) override { return true; }
  bool TraverseNestedNameSpecifierLoc(clang::NestedNameSpecifierLoc) override { return true; }

  bool VisitFunctionDecl(clang::FunctionDecl* function) override {
    if (function->getTemplateSpecializationKind() == clang::TSK_Undeclared || function->isDependentContext())
      return true;
    if (!function->doesThisDeclarationHaveABody()) return true;
    announce(function);
    return true;
  }
  bool VisitClassTemplateSpecializationDecl(clang::ClassTemplateSpecializationDecl* made) override {
    if (!made->isDependentContext() && made->isCompleteDefinition() &&
        !llvm::isa<clang::ClassTemplatePartialSpecializationDecl>(made))
      announce(made);
    return true;
  }
  bool VisitVarDecl(clang::VarDecl* variable) override {
    if (variable->isStaticDataMember() && variable->getTemplateSpecializationKind() != clang::TSK_Undeclared &&
        !variable->getDeclContext()->isDependentContext() && variable->isThisDeclarationADefinition())
      announce(variable);
    return true;
  }
  bool VisitCXXRecordDecl(clang::CXXRecordDecl* record) override {
    if (!record->isThisDeclarationADefinition() || record->isDependentContext() || !record->isDynamicClass())
      return true;
    const clang::CXXMethodDecl* key = record->getASTContext().getCurrentKeyFunction(record);
    if (key != nullptr && key->hasBody()) generator_.HandleVTable(record);
    return true;
  }

 private:
  void announce(clang::Decl* declaration) { generator_.HandleTopLevelDecl(clang::DeclGroupRef(declaration)); }
  clang::CodeGenerator& generator_;
};

}  // namespace

HostModule::HostModule(clang::ASTContext& context) : llvm_(std::make_unique<llvm::LLVMContext>()) {
  static clang::HeaderSearchOptions headers;
  static clang::PreprocessorOptions preprocessor;
  static clang::CodeGenOptions options;
  options.setDebugInfo(llvm::codegenoptions::DebugLineTablesOnly);
  options.DebugColumnInfo = true;
  options.OptimizationLevel = 1;  // or bodies that another file has, too, are left out
  // Data that only an optimiser reads, and names that only a person reads, would take a fifth of the time.
  options.RelaxedAliasing = true;
  options.DisableLifetimeMarkers = true;
  options.DiscardValueNames = true;
  // Its errors about unsupported code are not shown.
  diagnostics_ = std::make_unique<clang::DiagnosticsEngine>(context.getDiagnostics().getDiagnosticIDs(),
                                                            context.getDiagnostics().getDiagnosticOptions(),
                                                            new clang::IgnoringDiagConsumer);
  diagnostics_->setSourceManager(&context.getSourceManager());
  generator_.reset(clang::CreateLLVMCodeGen(*diagnostics_, "host", llvm::vfs::getRealFileSystem(), headers,
                                            preprocessor, options, *llvm_)
                       .release());
  generator_->Initialize(context);
  for (clang::Decl* declaration : context.getTranslationUnitDecl()->decls())
    generator_->HandleTopLevelDecl(clang::DeclGroupRef(declaration));
  Announcer(*generator_).TraverseDecl(context.getTranslationUnitDecl());
  generator_->HandleTranslationUnit(context);
  module_ = generator_->GetModule();
}

void HostModule::process_ends_soon() { ends_soon = true; }

HostModule::~HostModule() {
  if (!ends_soon) return;
  llvm::BuryPointer(std::move(generator_));
  llvm::BuryPointer(std::move(llvm_));
}

const clang::Decl* HostModule::declaration(llvm::StringRef symbol) const {
  return generator_->GetDeclForMangledName(symbol);
}

}  // namespace streamsan::analyzer
