// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Callers, in C++, for what a file defines and does not call itself. See callers.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/interpreter/ways_to_wait.h"
#include "analyzer/lowering/symbols.h"

namespace clang {
class CXXRecordDecl;
class FunctionDecl;
}  // namespace clang

namespace streamsan::analyzer {

struct Caller {
  /// What one line of the text does. `Call`: it calls a function of the program. `Serve`: as another user
  /// (Users::Others), it calls a method of an object that was lent. `Other`: it makes an argument.
  enum class Line : std::uint8_t { Other, Construct, Call, Serve, Destroy };
  /// How many use what is called.
  enum class Users : std::uint8_t {
    One,
    Streams,  ///< one in each of several streams
    Objects,  ///< two objects that share one object
    Others,   ///< other users call methods of the objects that were lent, or of objects that share these
  };
  std::string name;            ///< the name of the caller, which is a function
  std::string text;            ///< its definition
  std::vector<Line> lines;     ///< what each line of the text does, counted from 0
  std::size_t again = 0;       ///< the line at which the second call of the function begins; 0: there is one call
  std::size_t group = 0;       ///< shared by callers that differ only in flags or in which arguments are one object; a
                               ///< conflict counts if all of them show it
  std::size_t of = 0;          ///< number of the function or class that is called
  bool alike = true;           ///< all arguments that say which one of several is meant are 0
  std::size_t instead_of = 0;  ///< the group in whose place this caller is followed, if its arguments do not suit; 0:
                               ///< this caller is followed in any case
  Users users = Users::One;
  WaysToWait::Offer offer = WaysToWait::Offer::Anything;  ///< which waits users have beside the calls here
  bool empty = false;                                     ///< its lists have no elements
  std::string beside;                                     ///< Users::Others: the class of their objects
  const clang::CXXRecordDecl* record = nullptr;           ///< the class of its object; nullptr: it calls a function
};

/// Which functions and classes get no caller.
struct LeftOut {
  bool spares_look_alikes = false;  ///< input: a third function like two others gets no caller
  std::size_t next_number = 0;      ///< for the name of the next caller: names are never used twice
  std::size_t too_many = 0;         ///< left out because following them would take too long
  std::size_t look_alikes = 0;      ///< left out because two others are like them (look_alikes.h)
};

/// The made-up callers of functions and classes in the main file.
std::vector<Caller> callers(Symbols& symbols, LeftOut& left_out);

// The functions of the interpreter that make arguments for callers, and their declarations in C++.
extern const char* const kGivenFunctions;
/// void*(unsigned long bytes, size of a counted integer or 0, number of the parameter or field)
inline constexpr const char* kGivenMemory = "streamsan_given_memory";
inline constexpr const char* kGivenStream = "streamsan_given_stream";  ///< void*(unsigned long number)
/// void*(unsigned long array, unsigned long index): a stream that differs from the others of the array
inline constexpr const char* kGivenStreamOf = "streamsan_given_stream_of";
inline constexpr const char* kGivenEvent = "streamsan_given_event";  ///< void*()
/// void*(unsigned long address): called by a callback that fills this memory; 1: one whose effects are not known
inline constexpr const char* kCalledBack = "streamsan_called_back";
/// void*(unsigned long): the device for which the following arguments are made; ~0UL: any
inline constexpr const char* kOnDevice = "streamsan_on_device";
inline constexpr const char* kCallerPrefix = "streamsan_caller_";  ///< of names of callers
inline constexpr const char* kThrew = "streamsan_threw";           ///< void*(): the call of the same line has thrown

}  // namespace streamsan::analyzer
