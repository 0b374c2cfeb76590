// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lowering of all functions of a translation unit shares.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/lowering/census.h"
#include "analyzer/lowering/free_lists.h"
#include "analyzer/lowering/kernel_effects.h"
#include "analyzer/lowering/lowering.h"
#include "analyzer/lowering/sites.h"
#include "analyzer/lowering/symbols.h"
#include "llvm/ADT/DenseMap.h"

namespace streamsan::analyzer::host {

struct Unit {
  Unit(Symbols& all_symbols, Census& all_functions, const LoweringOptions& settings)
      : context(all_symbols.context()),
        symbols(all_symbols),
        census(all_functions),
        options(settings),
        sites(all_symbols.context()),
        free_lists(find_free_lists(all_symbols)) {}

  clang::ASTContext& context;
  Symbols& symbols;
  Census& census;
  const LoweringOptions& options;
  Sites sites;
  FreeLists free_lists;
  KernelEffects kernels;
  std::unordered_map<std::string, const clang::FunctionDecl*> usr_owner;
  llvm::DenseMap<const clang::FunctionDecl*, std::string> usrs;

  /// A function as it is where a caller gives it certain functions to call.
  struct Version {
    const clang::FunctionDecl* definition = nullptr;
    Callables::Bindings bindings;
    std::string usr;
  };
  std::vector<Version> versions;  ///< to be lowered
  std::unordered_set<std::string> version_usrs;

  /// Unique in the translation unit: Clang gives two lambdas of one function one USR.
  const std::string& usr(const clang::FunctionDecl& function);
};

}  // namespace streamsan::analyzer::host
