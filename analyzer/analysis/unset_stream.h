// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream field that no code sets. unset_stream.cpp explains it.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// The stream in this place is null because no code has set it.
bool is_never_set(const ir::Function& function, ir::PlaceId stream, const ir::Program& program);

}  // namespace streamsan::analyzer
