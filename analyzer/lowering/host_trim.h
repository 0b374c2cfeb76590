// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is taken out of a function again once it is lowered; see host_trim.cpp.
#pragma once

#include "analyzer/lowering/host_loops.h"

namespace streamsan::analyzer::host {

class Source;

/// `root`: it works on streams itself, or through what it calls.
void trim(Unit& unit, ir::Function& function, Terminators terminators, Source& source, bool root);

}  // namespace streamsan::analyzer::host
