// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where PyTorch makes a tensor, by the options that the call is given.
#pragma once

#include <optional>

#include "clang/AST/Expr.h"
#include "llvm/ADT/ArrayRef.h"
#include "ordering/types.h"

namespace streamsan::analyzer::host {

struct Unit;

/// `by_default`: the memory where nothing names a device; absent: the device's.
ordering::MemoryKind memory_asked_for(llvm::ArrayRef<const clang::Expr*> arguments,
                                      std::optional<ordering::MemoryKind> by_default, Unit& unit);

}  // namespace streamsan::analyzer::host
