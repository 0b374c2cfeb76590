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
  bool flags = false;  ///< the value of a bool
  bool one = true;     ///< what refers to one class refers to one object, and so do the streams in objects
  bool alike = true;   ///< numbers that say which one are all 0
  /// The numbers that an object is made with, beside those that its methods get later: of what works in pieces there are
  /// several where its own are smaller; what refuses to work with so little is given larger ones.
  enum class Size : std::uint8_t { Same, Smaller, Larger };
  Size own = Size::Same;
};

bool is_public_constructor(const clang::CXXConstructorDecl& constructor);

/// The lines of a caller, without its name. nullopt: no arguments can be made.
std::optional<Caller> caller_of(Symbols& symbols, Way way, const clang::FunctionDecl& function);
/// `constructor`: nullptr: the implicit one.
std::optional<Caller> caller_of(Symbols& symbols, Way way, const clang::CXXRecordDecl& record,
                                const clang::CXXConstructorDecl* constructor);

}  // namespace streamsan::analyzer
