// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared pointers that nobody shares. See shared_owners.cpp.
#pragma once

#include "llvm/ADT/DenseMap.h"

namespace clang {
class FunctionDecl;
class ValueDecl;
}  // namespace clang

namespace streamsan::analyzer {

class Symbols;

/// By local variable or field of type std::shared_ptr: what its end calls with the pointer that it holds.
using SharedOwners = llvm::DenseMap<const clang::ValueDecl*, const clang::FunctionDecl*>;

SharedOwners find_shared_owners(Symbols& symbols);

}  // namespace streamsan::analyzer
