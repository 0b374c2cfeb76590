// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan doctor`: is everything in place, and if not, what to do. One line for each thing looked at:
//   ok    fine
//   warn  works, with a loss that the line names
//   FAIL  `streamsan run` would not see anything
// Exit code 0, or 2 if a line says FAIL.
//
// Whether the hook is active is not deduced but tried: the doctor runs itself as a guest (probe()), which does what the
// CUDA run-time does at start-up and looks whose function it got.
#pragma once

#include "cli/options.h"

namespace streamsan::cli {

int doctor(const Options& options);

/// The guest's part. Prints what it saw on stdout as "key value" lines; always 0.
int probe();

}  // namespace streamsan::cli
