// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Polly, an optimiser of loops that some distributions build into LLVM: its entry point is asked for by Clang's code
// generator, whose optimisers are never run here.
#include "llvm/Plugins/PassPlugin.h"

// LLVM's name.
llvm::PassPluginLibraryInfo getPollyPluginInfo();  // NOLINT(readability-identifier-naming)
llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }
