// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the program that is linked with LLVM's static libraries: Clang's static analyzer, to which clang-tidy's frame
// refers, can ask the solver Z3. None of our checks does. With these definitions the source of LLVM's that has them is
// not linked, nor is Z3.
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SMTAPI.h"

namespace llvm {

SMTSolverRef CreateZ3Solver() { report_fatal_error("streamsan-tidy has no Z3"); }

void SMTSolverStatistics::dump() const {}
void SMTSort::dump() const {}
void SMTExpr::dump() const {}
void SMTSolver::dump() const {}

}  // namespace llvm
