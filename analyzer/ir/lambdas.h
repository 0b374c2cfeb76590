// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lambdas that a function calls itself: what is written in them is written in the function.
#pragma once

#include <optional>
#include <string>

#include "analyzer/ir/ir.h"

namespace streamsan::analyzer::ir {

/// `op` is the call of a lambda whose body is known.
bool calls_lambda(const Program& program, const Op& op);

/// `usr` with the lambdas that it calls, and those that they call, in their places, and what they capture by reference
/// under its own name. All other calls stay. nullopt: it calls none.
std::optional<Function> with_lambdas(const Program& program, const std::string& usr);

}  // namespace streamsan::analyzer::ir
