// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of a vector, a list or a queue are; see host_sequences.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"

namespace streamsan::analyzer::host {

class Assignments;
class FunctionBuilder;
class Lifetimes;
class Numbers;
class Places;
class Tensors;
class Values;
struct Parts;
struct Unit;

class Sequences {
 public:
  explicit Sequences(const Parts& parts);

  /// The container was just made, and is no copy.
  void make(const Call& construction, ir::PlaceId container);
  /// push_back(), push_front(), emplace() and their kin. False: it puts the element elsewhere.
  bool put(const Call& call);
  /// What takes elements away, or changes how many there are.
  void change(const Call& call);
  /// Its elements were moved out of it all at once.
  void leave_empty(ir::PlaceId container, ir::SiteId site);
  /// Only the block of the container is known from now on.
  void forget(ir::PlaceId container, ir::SiteId site);

 private:
  void set(ir::PlaceId number, ir::Expr value, ir::SiteId site);
  void step(ir::PlaceId number, int by, ir::SiteId site);
  void fill(const Call& call, ir::PlaceId element, clang::QualType type);

  Unit& unit_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Assignments& assignments_;
  Lifetimes& lifetimes_;
  Tensors& tensors_;
};

}  // namespace streamsan::analyzer::host
