// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan doctor` checks whether everything is in place, and says what to do if not. It prints one line for each
// check:
//   ok    fine
//   warn  works, with a loss that the line names
//   FAIL  `streamsan run` would not see anything
// Exit code 0, or 2 if a line says FAIL.
//
// It does not deduce whether the hook works but tries it: the doctor runs itself as a guest (probe.h), which does what
// the CUDA run-time does at start-up and checks whose function it got.
#pragma once

#include "cli/options.h"

namespace streamsan::cli {

int doctor(const Options& options);

}  // namespace streamsan::cli
