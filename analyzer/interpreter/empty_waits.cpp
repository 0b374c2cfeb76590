// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/interpreter/empty_waits.h"

#include <algorithm>

#include "analyzer/interpreter/callers.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"

namespace streamsan::analyzer::interpreter {

namespace {

/// Calls of named functions by the program itself, and not by made-up callers.
template <typename Visit>
void for_each_call(const llvm::Module& module, const Visit& visit) {
  for (const llvm::Function& function : module) {
    if (function.getName().starts_with(kCallerPrefix)) continue;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call != nullptr && call->getCalledFunction() != nullptr) visit(*call, *call->getCalledFunction());
    }
  }
}

}  // namespace

std::vector<EmptyWait> EmptyWaits::found(
    const llvm::Module& module, const std::function<bool(const llvm::Function&)>& records,
    const std::function<bool(ordering::EventId, ordering::EventId)>& are_alike) const {
  std::vector<EmptyWait> result;
  for (const auto& [wait, stream] : waits_) {
    const ordering::EventId event = wait.first;
    if (!events_.contains(event) &&
        std::ranges::none_of(events_, [&](ordering::EventId recorded) { return are_alike(recorded, event); }))
      result.push_back({.event = event, .stream = stream, .site = wait.second});
  }
  if (result.empty() || exported_) return {};
  std::set<const llvm::Function*> leading;
  const auto leads = [&](const llvm::Function& called) {
    return called.isDeclaration() ? records(called) : leading.contains(&called);
  };
  for (bool grew = true; grew;) {
    grew = false;
    for_each_call(module, [&](const llvm::CallBase& call, const llvm::Function& called) {
      if (leads(called)) grew |= leading.insert(call.getFunction()).second;
    });
  }
  bool all = true;
  for_each_call(module, [&](const llvm::CallBase& call, const llvm::Function& called) {
    if (leads(called)) all &= calls_.contains(&call);
  });
  return all ? result : std::vector<EmptyWait>();
}

}  // namespace streamsan::analyzer::interpreter
