// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits for events that the whole program never records: each of them does nothing (R-EVT-04), and the order that the event
// was made for is missing.
//
// One run shows only what was done in it. An event may be recorded on a path that the run does not take, and a slot that
// was never used may be waited for at the end, which is right. So a wait counts only if
//   * every call in the program that records events was made in this run, and none of them was for this event;
//   * no other event that the same call makes was recorded either: lanes that were not used are made as those that were;
//   * no event was handed to another process.
// Errs to say nothing.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"
#include "ordering/types.h"

namespace streamsan::analyzer::interpreter {

struct EmptyWait {
  ordering::EventId event{};
  ordering::StreamId stream{};  ///< that waits
  ordering::SiteId site{};      ///< of the wait
};

class EmptyWaits {
 public:
  /// `by`: the call, of which one may stand for several in the program's text.
  void recorded(ordering::EventId event, const llvm::Instruction* by) {
    events_.insert(event);
    calls_.insert(by);
  }
  void waited(const EmptyWait& wait) {
    if (!events_.contains(wait.event)) waits_.push_back(wait);
  }
  /// The host waits. What was never used may be waited for at the end.
  void waited_by_host(ordering::EventId event, ordering::SiteId site) {
    if (!events_.contains(event)) by_host_.push_back(site);
  }
  void exported() { exported_ = true; }
  /// Every wait for an event that had not been recorded by then.
  template <typename Use>
  void for_each_empty(const Use& use) const {
    for (const EmptyWait& wait : waits_) use(wait.site);
    for (const ordering::SiteId site : by_host_) use(site);
  }

  /// At the end of a run. `records`: is it a function that records an event; `are_alike`: were both events made at the same
  /// place. The module outlives the call only.
  [[nodiscard]] std::vector<EmptyWait> found(
      const llvm::Module& module, const std::function<bool(const llvm::Function&)>& records,
      const std::function<bool(ordering::EventId, ordering::EventId)>& are_alike) const;

 private:
  std::set<ordering::EventId> events_;        ///< that were recorded
  std::set<const llvm::Instruction*> calls_;  ///< by which
  std::vector<EmptyWait> waits_;              ///< for events that had not been recorded by then
  std::vector<ordering::SiteId> by_host_;     ///< likewise, where the host waits
  bool exported_ = false;
};

}  // namespace streamsan::analyzer::interpreter
