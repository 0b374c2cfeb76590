// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that are launched by a CUfunction, as the driver's interface does.
//
// A program gets a function handle by a kernel's address (cudaGetFuncBySymbol) or by its name in a module. If the
// translation unit has a kernel with that address, or with that name and C linkage, it is launched as by <<<>>>. The
// parameters of any other kernel are not known: each entry of the list of arguments is read as a word. A word in device
// memory counts as a pointer, with unknown accesses. The length of the list is known if it is a local array; else the
// kernel has no known accesses.
#include "analyzer/interpreter/kernel_handles.h"

#include <string>

#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace streamsan::analyzer::interpreter {

void KernelHandles::give(Machine& machine, Word out, const llvm::Function* stub) {
  const Word handle = reinterpret_cast<Word>(machine.memory().heap(64));
  stubs_[handle] = stub;
  machine.store(out, handle);
}

void KernelHandles::by_symbol(Machine& machine, const Arguments& arguments) {
  give(machine, arguments.word(0), machine.image().function_at(arguments.word(1)));
}

void KernelHandles::by_name(Machine& machine, const Arguments& arguments) {
  constexpr std::size_t kLongest = 256;
  std::string stub = "__device_stub__";
  for (Word at = arguments.word(2); stub.size() < kLongest && machine.memory().contains(at, 1); ++at) {
    const char letter = *reinterpret_cast<const char*>(at);
    if (letter == '\0') break;
    stub += letter;
  }
  give(machine, arguments.word(0), machine.module().getFunction(stub));
}

void KernelHandles::by_handle(Machine& machine, const Arguments& arguments) {
  give(machine, arguments.word(0), stub(arguments.word(1)));
}

bool KernelHandles::call(Machine& machine, HostCall what, const Arguments& arguments) {
  switch (what) {
    case HostCall::KernelBySymbol:
      by_symbol(machine, arguments);
      return true;
    case HostCall::KernelByName:
      by_name(machine, arguments);
      return true;
    case HostCall::KernelByHandle:
      by_handle(machine, arguments);
      return true;
    default:
      return false;
  }
}

const llvm::Function* KernelHandles::stub(Word handle) const {
  const auto found = stubs_.find(handle);
  return found == stubs_.end() ? nullptr : found->second;
}

}  // namespace streamsan::analyzer::interpreter
