// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Containers that are emptied and filled again. See host_refills.cpp.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::host {

/// Op::detail of a host write that stands where a container is emptied.
inline constexpr const char* kRefill = "is filled again";

/// Keeps such a write where the container is filled next, and leaves it out elsewhere. A pass.
void settle_refills(ir::Function& function);

}  // namespace streamsan::analyzer::host
