// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --list-checks, --explain-config, --dump-config, --verify-config: what would be looked for, and nothing is looked at.
#pragma once

#include "analyzer/tool/check_selection.h"
#include "analyzer/tool/command_line.h"
#include "analyzer/tool/scratch.h"

namespace streamsan::analyzer {

/// Whether one of these options is given.
bool asks_for_configuration(const CommandLine& line);

/// Prints what is asked for, for the first source, or for a file in this folder. False: the configuration cannot be
/// read, or is complained about.
bool print_configuration(const CommandLine& line, const CheckSelection& selection, const Scratch& scratch);

}  // namespace streamsan::analyzer
