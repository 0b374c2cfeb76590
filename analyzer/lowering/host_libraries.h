// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Libraries that enqueue work: cuBLAS, cuFFT, NCCL, CUB, Thrust; see host_libraries.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"
#include "llvm/ADT/DenseSet.h"

namespace streamsan::analyzer::host {

class Arguments;
class FunctionBuilder;
class Places;
class Values;
struct Parts;
struct Unit;

class Libraries {
 public:
  explicit Libraries(const Parts& parts);

  void work(const Call& call);
  void set_handle_stream(const Call& call);
  /// A handle that is made by this call works on the default stream.
  void make_handles(const Call& call);
  /// What a library does that returns results: not a synchronisation that the program asks for.
  void wait_for_results(const Call& call, const ir::Operand& stream);

 private:
  Unit& unit_;
  FunctionBuilder& out_;
  Places& places_;
  Values& values_;
  Arguments& arguments_;

  llvm::DenseSet<std::uint32_t> host_handles_;  ///< places of handles of which the host does the work
};

}  // namespace streamsan::analyzer::host
