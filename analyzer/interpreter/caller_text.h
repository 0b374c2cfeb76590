// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the text of one caller is written. See callers.cpp.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "analyzer/interpreter/caller_numbers.h"
#include "analyzer/interpreter/caller_tensors.h"
#include "analyzer/interpreter/callers.h"

namespace clang {
class CXXConstructorDecl;
}

namespace streamsan::analyzer {

/// One way to choose the arguments.
struct Way {
  bool flags = false;  ///< the value of a bool
  bool one = true;     ///< all references to one class are to one object; the streams in objects are one, too
  bool alike = true;   ///< all numbers that select one of several are 0
  /// The numbers that a constructor gets, compared with those that methods get later.
  enum class Size : std::uint8_t {
    Same,
    Smaller,  ///< so that work in pieces has several pieces
    Larger,   ///< for code that needs more room
    Few,      ///< all numbers are small: for code that refuses large ones, or takes too long
  };
  Size own = Size::Same;
  Caller::Users users = Caller::Users::One;
  int beside = 0;         ///< which class other users have an object of, one that shares what was lent
  bool empty = false;     ///< lists have no elements
  bool declines = false;  ///< callbacks that should fill memory return false
};

/// Facts about the main file that callers() uses.
struct KnownOfFile {
  std::set<const clang::FunctionDecl*> calls;        ///< functions that the file calls, canonical
  std::vector<const clang::CXXRecordDecl*> classes;  ///< defined in it, and not abstract
  std::vector<const clang::CXXRecordDecl*> unused;   ///< those of them that the file does not create or call
  bool chooses_device = false;                       ///< the file chooses between several GPUs
  bool keeps_state = false;                          ///< it has variables that outlive calls of its functions
  UsesOfNumbers numbers;
  TensorSizes tensor_sizes;
  std::set<std::string, std::less<>> missing;  ///< fields that the file compares with nullptr
  std::unique_ptr<WaysToWait> waits;
};

bool is_public_constructor(const clang::CXXConstructorDecl& constructor);

bool keeps_for_each_stream(Symbols& symbols, const clang::CXXRecordDecl& record);
/// One object of the class serves several users: it has a mutex, or keeps something for each stream.
bool serves_several(Symbols& symbols, const clang::CXXRecordDecl& record);

/// A caller without its name. nullopt: no arguments can be made, or this way does not apply.
std::optional<Caller> caller_of(Symbols& symbols, const Way& way, const KnownOfFile& file,
                                const clang::FunctionDecl& function);
/// `constructor`: nullptr: the implicit one.
std::optional<Caller> caller_of(Symbols& symbols, const Way& way, const KnownOfFile& file,
                                const clang::CXXRecordDecl& record, const clang::CXXConstructorDecl* constructor);

}  // namespace streamsan::analyzer
