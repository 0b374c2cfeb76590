// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/interpreter/empty_waits.h"

#include <algorithm>

#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"

namespace streamsan::analyzer::interpreter {

std::vector<EmptyWait> EmptyWaits::found(
    const llvm::Module& module, const std::function<bool(const llvm::Function&)>& records,
    const std::function<bool(ordering::EventId, ordering::EventId)>& are_alike) const {
  std::vector<EmptyWait> result;
  std::ranges::copy_if(waits_, std::back_inserter(result), [&](const EmptyWait& wait) {
    return !events_.contains(wait.event) &&
           std::ranges::none_of(events_, [&](ordering::EventId recorded) { return are_alike(recorded, wait.event); });
  });
  if (result.empty() || exported_) return {};
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function* called = call == nullptr ? nullptr : call->getCalledFunction();
      if (called != nullptr && called->isDeclaration() && records(*called) && !calls_.contains(call)) return {};
    }
  }
  return result;
}

}  // namespace streamsan::analyzer::interpreter
