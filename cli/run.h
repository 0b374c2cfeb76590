// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan run`: starts a program with the recorder preloaded, judges every process of it while it runs, reports.
//
// THE PROGRAM'S BEHAVIOUR IS ITS OWN. It runs in our process group, on our terminal, with our standard streams, signal
// mask and dispositions. A signal from the keyboard reaches it by itself; one sent to us alone is passed on. We outlive
// it, and our exit code is its own: 128 + signal if it was killed, 127 if it was not found, 126 if it could not be
// executed, 2 if we failed before starting it. An unsuppressed error comes before all of these (option exitcode).
//
// One judge thread for each process that uses CUDA, begun when its trace appears in our private directory. When the
// program has ended, processes it left behind get a short while to end; then they are judged as far as they are.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace streamsan::cli {

int run(const Options& options, const std::vector<std::string>& command);

}  // namespace streamsan::cli
