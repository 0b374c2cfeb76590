// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths that are taken out of a finished function; see host_paths.cpp.
#pragma once

#include "analyzer/lowering/host_loops.h"

namespace streamsan::analyzer::host {

/// Some loop in which the host uses the memory of one element after the other.
bool touches_elements(const ir::Function& function, const Terminators& terminators);
/// The host uses memory, or ends it, or calls what may.
bool may_use_memory(const ir::Op& op);
/// Whether memory is used, or ends, is up to a number of the caller's: `if (owner_) delete[] data_;`
bool flags_decide(const ir::Function& function, const Terminators& terminators);
/// What is left of a loop in which only the host works, and which has one way out, is a list.
void flatten_loops(const Unit& unit, ir::Function& function, const Terminators& terminators);
/// The whole function becomes a list.
void outline(ir::Function& function);

/// The variable, or whatever else it is, that a place is a part of.
ir::PlaceId root_of(const ir::Function& function, ir::PlaceId place);

}  // namespace streamsan::analyzer::host
