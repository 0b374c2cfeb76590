// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of a call: what stands at the positions that a model names (host_arguments.cpp), and what happens to
// all of them in code that is not seen (host_passing.cpp).
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"

namespace streamsan::analyzer::host {

class Ends;
class FunctionBuilder;
class Places;
class Values;
struct Parts;
struct Unit;

class Arguments {
 public:
  explicit Arguments(const Parts& parts);

  // At a position of a model, or kObject, kResult.
  ir::Operand operand_at(const Call& call, int position);
  ir::PlaceId target_at(const Call& call, int position);
  /// The stream that a library handle was given; the handle is the object or an argument.
  ir::PlaceId handle_stream(const Call& call, int position);
  /// The stream that the model says. `op` notes if it was not written, and the site where it belongs.
  ir::Operand stream_of(const Call& call, ir::Op* op = nullptr);
  /// The first argument whose type is a stream.
  ir::Operand typed_stream(const Call& call, ir::Op* op);
  /// The accesses that the model's roles name; positions begin `shift` later.
  void add_roles(const Call& call, ir::Op& op, int shift);

  // What a call whose code is not seen may do.
  /// It may keep and change all that it is given.
  void escape(const Call& call);
  /// What it is given to write has another value.
  void fresh_arguments(const Call& call);
  /// Objects that are moved into it: it has what they held.
  void hand_over_moved(const Call& call);
  /// The host reads and writes what the model's roles name, now.
  void host_touch(const Call& call);

 private:
  void add_role(const Call& call, ir::Op& op, const Role& role, int position);
  void add_stream_slot(const Call& call, std::size_t position);

  Unit& unit_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Ends& ends_;
};

}  // namespace streamsan::analyzer::host
