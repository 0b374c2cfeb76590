// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callers, in C++, for what a file defines and does not call itself. See callers.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/lowering/symbols.h"

namespace clang {
class CXXRecordDecl;
class FunctionDecl;
}  // namespace clang

namespace streamsan::analyzer {

struct Caller {
  /// What a line of the text does. `Call`: of a function of the program, `Other`: it makes arguments.
  enum class Line : std::uint8_t { Other, Construct, Call, Destroy };
  std::string name;         ///< of the function that it is
  std::string text;         ///< its definition
  std::vector<Line> lines;  ///< of the text, the first one at 0
  std::size_t group = 0;    ///< callers of one thing that differ in flags have one: what counts, all of them show
  bool in_place = false;    ///< followed only if those of the group before it ended by what the program does itself
  const clang::CXXRecordDecl* record = nullptr;  ///< of the object whose life it is; nullptr: it calls one function
};

/// Of functions and classes in the main file.
std::vector<Caller> callers(Symbols& symbols);

// What callers call to get their arguments: functions that the interpreter has, and their declarations in C++.
extern const char* const kGivenFunctions;
inline constexpr const char* kGivenMemory =
    "streamsan_given_memory";  ///< void*(unsigned long bytes, size of a counted integer or 0, number of the parameter or field)
inline constexpr const char* kGivenStream = "streamsan_given_stream";  ///< void*(unsigned long number)
inline constexpr const char* kGivenEvent = "streamsan_given_event";    ///< void*()
inline constexpr const char* kCalledBack = "streamsan_called_back";    ///< void*(): what a callback does is not known

}  // namespace streamsan::analyzer
