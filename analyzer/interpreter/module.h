// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's code of a translation unit as LLVM IR, made from the AST after parsing.
#pragma once

#include <memory>

namespace clang {
class ASTContext;
class Decl;
class CodeGenerator;
class DiagnosticsEngine;
}  // namespace clang
namespace llvm {
class LLVMContext;
class Module;
class StringRef;
}  // namespace llvm

namespace streamsan::analyzer {

class HostModule {
 public:
  explicit HostModule(clang::ASTContext& context);
  ~HostModule();
  HostModule(const HostModule&) = delete;
  HostModule& operator=(const HostModule&) = delete;

  /// From now on modules are not destroyed. Destroying one, instruction by instruction, takes longer than running it.
  /// For a process that analyses one source and ends; clang-tidy, which loads the plug-in, may analyse hundreds.
  static void process_ends_soon();

  /// nullptr: no code could be made.
  [[nodiscard]] const llvm::Module* module() const { return module_; }
  /// The declaration that a symbol stands for, or nullptr.
  [[nodiscard]] const clang::Decl* declaration(llvm::StringRef symbol) const;

 private:
  std::unique_ptr<llvm::LLVMContext> llvm_;
  std::unique_ptr<clang::DiagnosticsEngine> diagnostics_;
  std::unique_ptr<clang::CodeGenerator> generator_;
  const llvm::Module* module_ = nullptr;
};

}  // namespace streamsan::analyzer
