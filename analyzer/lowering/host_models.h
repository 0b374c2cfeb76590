// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that a model describes: who lowers which action. The small ones are lowered here.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"

namespace streamsan::analyzer::host {

class Algorithms;
class Arguments;
class Assignments;
class Containers;
class Effects;
class Ends;
class FunctionBuilder;
class Libraries;
class Messages;
class Places;
class Tensors;
class Values;
struct Parts;
struct Scan;
struct Unit;

class ModelledCalls {
 public:
  explicit ModelledCalls(const Parts& parts);

  void apply(const Call& call);

 private:
  /// What the call is worth where its action did not say.
  void give_result(const Call& call);
  void wrapper(const Call& call);
  void keep_alive(const Call& call);
  void elapsed(const Call& call);
  void alias(const Call& call);
  void throw_away(const Call& call);
  void sync_object(const Call& call);
  void set_device(const Call& call);
  void swap_capture_mode(const Call& call);

  Unit& unit_;
  const Scan& scan_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
  Ends& ends_;
  Arguments& arguments_;
  Algorithms& algorithms_;
  Effects& effects_;
  Libraries& libraries_;
  Messages& messages_;
  Containers& containers_;
  Tensors& tensors_;
};

}  // namespace streamsan::analyzer::host
