// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of a message-passing library that return before they are done. See host_messages.cpp.
#pragma once

#include "analyzer/ir/ir.h"
#include "analyzer/lowering/host_call.h"

namespace streamsan::analyzer::host {

class Arguments;
class FunctionBuilder;
struct Parts;

class Messages {
 public:
  explicit Messages(const Parts& parts);

  /// MPI_Isend, MPI_Irecv: the call itself is the host's touch, and goes on behind it.
  void post(const Call& call);
  /// MPI_Wait, MPI_Waitall.
  void complete(const Call& call);

 private:
  /// What the request at this position stands for; kNoPlace: it is not known which one that is.
  ir::PlaceId request(const Call& call, int position);

  FunctionBuilder& out_;
  Arguments& arguments_;
};

}  // namespace streamsan::analyzer::host
