// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Handles by which the driver's interface launches kernels: CUfunction, CUkernel. See kernel_handles.cpp.
#pragma once

#include <map>

#include "analyzer/interpreter/machine.h"
#include "analyzer/models/host_calls.h"

namespace streamsan::analyzer::interpreter {

class KernelHandles {
 public:
  /// False: `what` is not a call that returns a handle.
  bool call(Machine& machine, HostCall what, const Arguments& arguments);
  /// The host's stub of the kernel; nullptr: the kernel is in another file.
  [[nodiscard]] const llvm::Function* stub(Word handle) const;

 private:
  void give(Machine& machine, Word out, const llvm::Function* stub);
  void by_symbol(Machine& machine, const Arguments& arguments);
  void by_name(Machine& machine, const Arguments& arguments);
  void by_handle(Machine& machine, const Arguments& arguments);

  std::map<Word, const llvm::Function*> stubs_;
};

}  // namespace streamsan::analyzer::interpreter
