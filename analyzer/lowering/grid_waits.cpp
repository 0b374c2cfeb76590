// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that wait for the grid in front, and what they do before.
//
// A kernel with a wait is written to be launched programmatically: whatever it does with global memory before the wait
// runs beside the kernel in front. Often that is meant (weights, tables of the model), and only the launches could say;
// so each is reported as a possibility. A wait in assembly without a "memory" clobber is a fault of its own: the
// compiler may move reads over it.
//
// Kernels in system headers are left out, and so is a file without a word that waits are called by.
#include "analyzer/lowering/grid_waits.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "analyzer/lowering/device_grid_wait.h"
#include "analyzer/lowering/kernel_effects.h"
#include "analyzer/lowering/sites.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace streamsan::analyzer {
namespace {

/// Does a file that is no system header have one of the words? One pass over what the preprocessor has entered: to ask
/// for each file where it was entered walks through all expansions of macros, each time.
bool any_wait_is_written(const clang::SourceManager& sources) {
  constexpr std::array<std::string_view, 7> kWords = {"griddep", "grid_dep", "dependentgrid", "dependent_grid",
                                                      "pdl",     "gdc_",     "gdcwait"};
  llvm::SmallPtrSet<const clang::SrcMgr::ContentCache*, 32> seen;
  std::string text;
  for (unsigned i = 0; i < sources.local_sloc_entry_size(); ++i) {
    const clang::SrcMgr::SLocEntry& entry = sources.getLocalSLocEntry(i);
    if (!entry.isFile() || clang::SrcMgr::isSystem(entry.getFile().getFileCharacteristic())) continue;
    const clang::SrcMgr::ContentCache& content = entry.getFile().getContentCache();
    if (!content.OrigEntry || !seen.insert(&content).second) continue;
    const llvm::StringRef written = content.getBufferDataIfLoaded().value_or("");
    text.resize(written.size());
    std::transform(written.begin(), written.end(), text.begin(), [](char c) { return llvm::toLower(c); });
    const auto has = [&](std::string_view word) {
      return ::memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;  // find() looks for one letter
    };
    if (std::any_of(kWords.begin(), kWords.end(), has)) return true;
  }
  return false;
}

/// Every function with a body, and of a template the pattern and what was made of it.
void functions_in(const clang::DeclContext& scope, const std::function<void(const clang::FunctionDecl&)>& take) {
  for (const clang::Decl* declaration : scope.decls()) {
    const auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(declaration);
    const auto* function =
        pattern != nullptr ? pattern->getTemplatedDecl() : llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (function != nullptr && function->isThisDeclarationADefinition()) take(*function);
    if (pattern != nullptr && pattern->isThisDeclarationADefinition()) {
      for (const clang::FunctionDecl* made : pattern->specializations())
        if (made->doesThisDeclarationHaveABody()) take(*made);
    } else if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl, clang::CXXRecordDecl>(declaration)) {
      functions_in(*llvm::cast<clang::DeclContext>(declaration), take);
    } else if (const auto* of_class = llvm::dyn_cast<clang::ClassTemplateDecl>(declaration)) {
      functions_in(*of_class->getTemplatedDecl(), take);
    }
  }
}

}  // namespace

std::vector<GridWait> grid_waits(clang::ASTContext& context, const Sites& sites, KernelEffects& kernels) {
  std::vector<GridWait> found;
  const clang::SourceManager& files = context.getSourceManager();
  if (!any_wait_is_written(files)) return found;
  std::set<unsigned> reported;
  functions_in(*context.getTranslationUnitDecl(), [&](const clang::FunctionDecl& kernel) {
    if (files.isInSystemHeader(kernel.getLocation())) return;
    // An instance has no assembly but that of its pattern, which was looked at before.
    const bool looked_at = kernel.isTemplateInstantiation();
    for (const clang::SourceLocation wait :
         looked_at ? std::vector<clang::SourceLocation>() : device::unfenced_waits(kernel)) {
      if (!reported.insert(wait.getRawEncoding()).second) continue;
      found.push_back({.site = sites.at(wait), .kernel = kernel.getNameAsString(), .no_clobber = true});
      found.back().site.function = found.back().kernel;
    }
    if (!kernel.hasAttr<clang::CUDAGlobalAttr>() || kernel.isDependentContext()) return;
    const std::vector<ParameterEffect>& effects = kernels.of(kernel);
    if (kernels.behaviour(kernel).waits == ir::Certainty::No) return;
    const auto tell = [&](const std::string& name, const PointerEffect& effect) {
      if (effect.before_wait == ir::Certainty::No || effect.early_at == 0) return;
      GridWait& wait = found.emplace_back();
      wait.site = sites.at(clang::SourceLocation::getFromRawEncoding(effect.early_at));
      wait.kernel = wait.site.function = kernel.getNameAsString();
      wait.parameter = name;
      wait.mode = effect.early;
    };
    for (std::size_t i = 0; i < effects.size() && i < kernel.getNumParams(); ++i) {
      const std::string name = kernel.getParamDecl(static_cast<unsigned>(i))->getNameAsString();
      if (!effects[i].members) tell(name, effects[i]);
      for (const auto& [member, effect] : effects[i].by_member) tell(name + "." + member, effect);
    }
  });
  return found;
}

}  // namespace streamsan::analyzer
