// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the C++ library that no model describes; see host_standard.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"

namespace clang {
class Expr;
class FunctionDecl;
}  // namespace clang

namespace streamsan::analyzer::host {

class Assignments;
class FunctionBuilder;
class Numbers;
class Places;
class Values;
struct Parts;
struct Unit;

/// The body of a lambda that is an argument; nullptr: it is none, or which of several is not known.
const clang::FunctionDecl* closure_body(const clang::Expr* argument);

class StandardLibrary {
 public:
  explicit StandardLibrary(const Parts& parts);

  // Each lowers the call if it is one of its kind, and says if it was.
  /// std::move, std::swap and their kin.
  bool moves_value(const Call& call);
  /// An operator of an iterator.
  bool steps_iterator(const Call& call);
  /// An algorithm that calls a lambda which works on streams.
  bool runs_algorithm(const Call& call);

 private:
  bool steps_pointer(const Call& call, const clang::Expr& pointer);
  bool step(const Call& call, ir::PlaceId container, ir::PlaceId index);
  void call_closure(const Call& call, const clang::Expr& closure, const clang::FunctionDecl& body);

  Unit& unit_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
};

}  // namespace streamsan::analyzer::host
