// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the text of one caller is written. See callers.cpp.
#pragma once

#include <optional>

#include "analyzer/interpreter/callers.h"

namespace clang {
class CXXConstructorDecl;
}

namespace streamsan::analyzer {

/// How arguments are given.
struct Way {
  bool flags = false;   ///< the value of a bool
  bool alike = true;    ///< what refers to one class refers to one object, and numbers that say which one are all 0
  bool pieces = false;  ///< an object gets smaller numbers for its life than its methods do later: what works in pieces
                        ///< has several
};

bool is_public_constructor(const clang::CXXConstructorDecl& constructor);

/// The lines of a caller, without its name. nullopt: no arguments can be made.
std::optional<Caller> caller_of(Symbols& symbols, Way way, const clang::FunctionDecl& function);
/// `constructor`: nullptr: the implicit one.
std::optional<Caller> caller_of(Symbols& symbols, Way way, const clang::CXXRecordDecl& record,
                                const clang::CXXConstructorDecl* constructor);

}  // namespace streamsan::analyzer
