// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of functions: which kind of function it is, and what becomes of a call that no model describes.
#pragma once

#include <string>

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"

namespace clang {
class Expr;
class QualType;
}  // namespace clang

namespace streamsan::analyzer::host {

class Algorithms;
class Arguments;
class Assignments;
class CallbackCalls;
class Containers;
class FunctionBuilder;
class Launches;
class MapKeys;
class Maps;
class ModelledCalls;
class Optionals;
class Places;
class StandardLibrary;
class Tasks;
class Tensors;
class Touches;
class Tuples;
class Values;
struct Parts;
struct Scan;
struct Unit;

class Calls {
 public:
  explicit Calls(const Parts& parts);

  void lower(const clang::Expr& call);

  // For constructors, whose callee is known already.
  void call_body(const Call& call, const std::string& usr);
  /// It may do anything.
  void call_unknown(const Call& call);
  /// It certainly does nothing to streams.
  void call_harmless(const Call& call);

 private:
  /// The arguments, and the object if the function is a member.
  void take_arguments(Call& call);
  void touch_read_by_reference(const Call& call);
  /// `*header = made`: to a plain struct what `=` is to a number.
  void assign_trivially(const Call& call);
  [[nodiscard]] bool dispatches(const Call& call) const;
  /// It is given a text and plain numbers: it prints, throws or ends the program, and waits for nothing.
  [[nodiscard]] bool reports_only(const Call& call) const;
  /// The result is a reference: what a new pointer, which is returned, points to.
  ir::PlaceId refer_result(const Call& call, clang::QualType reference);

  Unit& unit_;
  const Scan& scan_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
  Touches& touches_;
  Arguments& arguments_;
  Algorithms& algorithms_;
  StandardLibrary& standard_;
  ModelledCalls& modelled_;
  Launches& launches_;
  Containers& containers_;
  Tensors& tensors_;
  Tuples& tuples_;
  Optionals& optionals_;
  Maps& maps_;
  MapKeys& map_keys_;
  CallbackCalls& callbacks_;
  Tasks& tasks_;
};

}  // namespace streamsan::analyzer::host
