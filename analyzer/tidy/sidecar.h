// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the program needs to know and clang-tidy's own output cannot say. See sidecar.cpp for the format.
#pragma once

#include "analyzer/tidy/translation_unit.h"
#include "clang/Basic/SourceLocation.h"

namespace clang {
class SourceManager;
}

namespace streamsan::analyzer {

/// clang-tidy's main function is run by streamsan-tidy. False: this is a plugin of clang-tidy's own program.
bool is_worker();

/// Both append JSON lines to the file that the environment variable STREAMSAN_TIDY_SIDECAR names. Without it, or if the
/// file cannot be opened, they do nothing: diagnostics are complete without.
void note_reported(const Finding& finding, clang::SourceLocation place, const clang::SourceManager& sources);
void note_analysed(const Analysis& analysis);

}  // namespace streamsan::analyzer
