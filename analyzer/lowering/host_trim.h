// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is taken out of a function again once it is lowered; see host_trim.cpp.
#pragma once

#include <cstdint>

#include "analyzer/lowering/host_loops.h"
#include "llvm/ADT/DenseSet.h"

namespace streamsan::analyzer::host {

class Source;

/// `root`: it works on streams itself, or through what it calls. `asked`: pointers to memory of which it asks the kind.
void trim(Unit& unit, ir::Function& function, Terminators terminators, Source& source, bool root,
          const llvm::DenseSet<std::uint32_t>& asked);

}  // namespace streamsan::analyzer::host
