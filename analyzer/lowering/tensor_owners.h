// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables whose tensor has no other owner by them; see tensor_owners.cpp.
#pragma once

namespace clang {
class FunctionDecl;
class VarDecl;
}  // namespace clang

namespace streamsan::analyzer {

class Symbols;

/// All that the function does with the variable is to give it to operations that are known: it is not copied, moved,
/// assigned, captured, returned, nor handed to other code.
bool only_operated_on(const clang::FunctionDecl& function, const clang::VarDecl& variable, Symbols& symbols);

}  // namespace streamsan::analyzer
