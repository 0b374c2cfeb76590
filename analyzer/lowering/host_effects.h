// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that a model describes by an effect of the table of driver functions; see host_effects.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"

namespace streamsan::analyzer::host {

class Arguments;
class FunctionBuilder;
class Launches;
class Numbers;
class Places;
class Values;
struct Parts;
struct Unit;

class Effects {
 public:
  explicit Effects(const Parts& parts);

  void apply(const Call& call);

 private:
  void apply_enqueue(const Call& call, ir::Work work);
  void apply_allocation(const Call& call);
  void apply_free(const Call& call);
  void apply_event(const Call& call);
  void apply_capture(const Call& call);
  void instantiate(const Call& call);
  /// An executable graph does something else from now on.
  void update_graph(const Call& call);
  /// The call gives events to another process, which may record them.
  void hand_over_events(const Call& call);
  void make_handle(const Call& call, ir::OpKind kind);
  /// Which side of a copy is host memory.
  void set_sides(const Call& call, ir::Op& op);

  Unit& unit_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Arguments& arguments_;
  Launches& launches_;
};

}  // namespace streamsan::analyzer::host
