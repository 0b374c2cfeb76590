// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::function and pointers to functions; see host_callables.cpp.
#pragma once

#include <string>

#include "analyzer/lowering/host_call.h"

namespace streamsan::analyzer::host {

class Assignments;
class FunctionBuilder;
class Places;
class Values;
struct Parts;
struct Unit;

class CallbackCalls {
 public:
  explicit CallbackCalls(const Parts& parts);

  /// Lowers the call if it assigns or asks a std::function, and says if it was one.
  bool apply(const Call& call);
  /// Lowers the construction of `call.object`, if that is a std::function.
  bool construct(const Call& call);
  /// Makes a call through a pointer or a std::function the call of the function behind it, if that is known.
  void redirect(Call& call);
  /// The function that a call of `usr` is: where the arguments say what it will call, and that differs from caller to
  /// caller, a version of it for these.
  std::string version(const Call& call, const std::string& usr);
  /// A std::function is among the arguments, for library code to keep or to run.
  [[nodiscard]] static bool given(const Call& call);

 private:
  void put(const Call& call);

  Unit& unit_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
};

}  // namespace streamsan::analyzer::host
