// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses in loops in which only the host works, as one access for all rounds; see host_rounds.cpp.
#pragma once

#include "analyzer/lowering/host_loops.h"

namespace streamsan::analyzer::host {

class Source;

void spread_accesses(Unit& unit, ir::Function& function, const Terminators& terminators, Source& source);

}  // namespace streamsan::analyzer::host
