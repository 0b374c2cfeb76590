// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan report FILE.json...`: findings of earlier runs as text, or in another format.
//
// Several files become one, as the processes of one run. Suppressions apply, so that a list that was changed can be
// tried out. What suppressed a finding when the file was written still does.
//
// Exit code: 2 if a file could not be read (nothing is written then) or written, or is of a run that was not judged to
// its end; else `exitcode` (66) if there is an unsuppressed error; else 0.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace streamsan::cli {

/// `text`: as text, besides the outputs that the options name.
int convert(Options options, bool text, const std::vector<std::string>& files);

}  // namespace streamsan::cli
