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

/// How arguments are given.
struct Way {
  bool flags = false;  ///< the value of a bool
  bool one = true;     ///< what refers to one class refers to one object, and so do the streams in objects
  bool alike = true;   ///< numbers that say which one are all 0
  /// The numbers that an object is made with, beside those that its methods get later.
  enum class Size : std::uint8_t {
    Same,
    Smaller,  ///< of what works in pieces there are several
    Larger,   ///< for what refuses to work with so little
    Few,      ///< all numbers are small: for what refuses so much, or takes too long
  };
  Size own = Size::Same;
  Caller::Users users = Caller::Users::One;
  int beside = 0;      ///< the others have an object of another class that shares what this one was given: which class
  bool empty = false;  ///< lists have no elements
  bool declines = false;  ///< a callback that is asked to fill memory says no
};

/// What callers() knows of the main file.
struct KnownOfFile {
  std::set<const clang::FunctionDecl*> calls;        ///< functions that it calls, canonical
  std::vector<const clang::CXXRecordDecl*> classes;  ///< defined in it, and not abstract
  std::vector<const clang::CXXRecordDecl*> unused;   ///< those of them that it leaves to others to make and call
  bool chooses_device = false;                       ///< it says which of several GPUs is used
  bool keeps_state = false;                          ///< in variables that outlive its functions' calls
  UsesOfNumbers numbers;
  TensorSizes tensor_sizes;
  std::set<std::string, std::less<>> missing;  ///< fields that it compares with nullptr
  std::unique_ptr<WaysToWait> waits;
};

bool is_public_constructor(const clang::CXXConstructorDecl& constructor);

bool keeps_for_each_stream(Symbols& symbols, const clang::CXXRecordDecl& record);
/// A class of which one object serves several users: it has a mutex, or keeps something for each stream.
bool serves_several(Symbols& symbols, const clang::CXXRecordDecl& record);

/// The lines of a caller, without its name. nullopt: no arguments can be made, or there is no such way to call it.
std::optional<Caller> caller_of(Symbols& symbols, const Way& way, const KnownOfFile& file,
                                const clang::FunctionDecl& function);
/// `constructor`: nullptr: the implicit one.
std::optional<Caller> caller_of(Symbols& symbols, const Way& way, const KnownOfFile& file,
                                const clang::CXXRecordDecl& record, const clang::CXXConstructorDecl* constructor);

}  // namespace streamsan::analyzer
