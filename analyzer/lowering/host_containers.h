// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Containers and smart pointers; see host_containers.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"

namespace streamsan::analyzer::host {

class Arguments;
class Assignments;
class Ends;
class FunctionBuilder;
class Lifetimes;
class Numbers;
class Places;
class Sequences;
class Tensors;
class Values;
struct Parts;
struct Unit;

class Containers {
 public:
  explicit Containers(const Parts& parts);

  void apply(const Call& call);
  void make_shared(const Call& call);
  /// If the call changes how many elements there are.
  void change_size(const Call& call);

 private:
  void make(const Call& call);
  void get_data(const Call& call);
  void get_element(const Call& call);
  /// acc[i]: a row of a tensor, or an element.
  void index_accessor(const Call& call);
  /// rmm::device_scalar(value, stream): the copy of what it is made from.
  void enqueue_first_copy(const Call& call, ir::PlaceId object);
  void copy_across(const Call& call, ir::PlaceId object, clang::QualType type);
  void grow(const Call& call);
  void reset(const Call& call);
  /// Its block is pinned memory.
  [[nodiscard]] bool pinned(ir::PlaceId container) const;
  /// By the host; `detail`: see host_refills.h.
  void write_block(const Call& call, const ir::Operand& where, const char* detail);

  Unit& unit_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
  Ends& ends_;
  Lifetimes& lifetimes_;
  Arguments& arguments_;
  Tensors& tensors_;
  Sequences& sequences_;
};

}  // namespace streamsan::analyzer::host
