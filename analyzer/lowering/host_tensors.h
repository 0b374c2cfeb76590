// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch; see host_tensors.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"

namespace streamsan::analyzer::host {

class Arguments;
class FunctionBuilder;
class Libraries;
class Numbers;
class Places;
class Values;
struct Parts;
struct Scan;
struct Unit;

class Tensors {
 public:
  explicit Tensors(const Parts& parts);

  void make_current(const Call& call);
  void tensor_make(const Call& call);
  void tensor_work(const Call& call, bool converts = false);
  void tensor_copy(const Call& call);
  /// A view of a part of a tensor.
  void tensor_part(const Call& call);

  /// `target` has the memory of `from`, too; or has taken it over.
  void share_tensor(ir::PlaceId target, ir::PlaceId from, bool moves, ir::SiteId site);
  void free_tensor(ir::PlaceId tensor, ir::SiteId site);

 private:
  [[nodiscard]] ordering::MemoryKind tensor_memory(const Call& call) const;

  /// How far a part is from the begin of the whole; kNoExpr: not at all.
  [[nodiscard]] ir::ExprId begin_of_part(const Call& call);

  Unit& unit_;
  const Scan& scan_;
  FunctionBuilder& out_;
  Numbers& numbers_;
  Places& places_;
  Values& values_;
  Arguments& arguments_;
  Libraries& libraries_;
};

}  // namespace streamsan::analyzer::host
