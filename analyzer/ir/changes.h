// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether an op may change what a place holds, also by another name of it. See changes.cpp.
#pragma once

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// The name of a MaySync that stands for the read of a volatile: somebody may have written it, whoever calls nobody.
inline constexpr const char* kVolatileRead = "volatile";

/// A store to `target` may change what `place` holds.
bool may_store(const Function& function, PlaceId target, PlaceId place);

/// `op` may: as a store, as code that is not known, or as a host access that writes the bytes.
bool may_change(const Function& function, const Op& op, PlaceId place);

}  // namespace streamsan::analyzer::ir
