// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the program that is linked with LLVM's static libraries: Clang's static analyzer, which clang-tidy's frame refers
// to, can ask the solver Z3. None of our checks does; with this definition LLVM's own is not linked, nor is Z3.
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SMTAPI.h"

llvm::SMTSolverRef llvm::CreateZ3Solver() { llvm::report_fatal_error("streamsan-tidy has no Z3"); }
