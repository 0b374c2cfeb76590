// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream that is a field which nobody sets. See unset_stream.cpp.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer {

/// The stream in this place is null because nobody has said anything of it.
bool is_never_set(const ir::Function& function, ir::PlaceId stream, const ir::Program& program);

}  // namespace streamsan::analyzer
