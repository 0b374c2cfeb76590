// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits for events that the whole program never records: each of them does nothing (R-EVT-04), and the order that the
// event was made for is missing.
//
// One run shows only what was done in it. An event may be recorded on a path that the run does not take, and a slot
// that was never used may be waited for at the end, which is right. So a wait counts only if
//   * every call in the program that records events was made in this run, and every call of a function that leads to
//     one: a helper that is given the event may be given this one elsewhere; and none of them was for this event;
//   * no other event created at the same place was recorded either: lanes that were not used are made as those that
//     were;
//   * no event was handed to another process.
// A record that compiled code does not show is a matter of record_calls.h. Errs to say nothing.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
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
  /// `by`: the call, and those that led to it.
  void recorded(ordering::EventId event, const std::vector<const llvm::Instruction*>& by) {
    events_.insert(event);
    calls_.insert(by.begin(), by.end());
  }
  void waited(const EmptyWait& wait) {
    if (!events_.contains(wait.event)) waits_.try_emplace({wait.event, wait.site}, wait.stream);
  }
  /// The host waits. What was never used may be waited for at the end.
  void waited_by_host(ordering::EventId event, ordering::SiteId site) {
    if (!events_.contains(event)) by_host_.push_back(site);
  }
  void exported() { exported_ = true; }
  /// Every wait for an event that had not been recorded by then.
  template <typename Use>
  void for_each_empty(const Use& use) const {
    for (const auto& [wait, stream] : waits_) use(wait.second);
    for (const ordering::SiteId site : by_host_) use(site);
  }

  /// Calls by which an event was recorded, and those that led to them.
  [[nodiscard]] const std::set<const llvm::Instruction*>& calls() const { return calls_; }

  /// At the end of a run. `records`: is it a function that records an event; `are_alike`: were both events created at
  /// the same place. The module need not outlive this call.
  [[nodiscard]] std::vector<EmptyWait> found(
      const llvm::Module& module, const std::function<bool(const llvm::Function&)>& records,
      const std::function<bool(ordering::EventId, ordering::EventId)>& are_alike) const;

 private:
  std::set<ordering::EventId> events_;  ///< that were recorded
  std::set<const llvm::Instruction*> calls_;
  /// For events that had not been recorded by then: which, and where; and the stream of the first that waited there.
  std::map<std::pair<ordering::EventId, ordering::SiteId>, ordering::StreamId> waits_;
  std::vector<ordering::SiteId> by_host_;  ///< likewise, where the host waits
  bool exported_ = false;
};

}  // namespace streamsan::analyzer::interpreter
