// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits for events that no code of the program records. Such a wait does nothing (R-EVT-04), and the order that the
// event was made for is missing.
//
// One run shows only its own path. An event may be recorded on another path, and it is right to wait at the end for a
// slot that was never used. So a wait counts only if
//   * the run has made every call in the program that records events, and every call of a function that leads to one,
//     because a helper may get this event elsewhere; and none of them was for this event;
//   * no other event created at the same place was recorded: unused events of a list are created like the used ones;
//   * no event was handed to another process.
// record_calls.h looks for records that compiled code does not show. Errs to silence.
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
  ordering::StreamId stream{};  ///< the stream that waits
  ordering::SiteId site{};      ///< the site of the wait
};

class EmptyWaits {
 public:
  /// `by`: the call, and the calls that led to it.
  void recorded(ordering::EventId event, const std::vector<const llvm::Instruction*>& by) {
    events_.insert(event);
    calls_.insert(by.begin(), by.end());
  }
  void waited(const EmptyWait& wait) {
    if (!events_.contains(wait.event)) waits_.try_emplace({wait.event, wait.site}, wait.stream);
  }
  /// The host waits. At the end it may wait for events that were never used.
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

  /// The calls that recorded events, and the calls that led to them.
  [[nodiscard]] const std::set<const llvm::Instruction*>& calls() const { return calls_; }

  /// At the end of a run. `records`: is it a function that records an event; `are_alike`: were both events created at
  /// the same place. The module need not outlive this call.
  [[nodiscard]] std::vector<EmptyWait> found(
      const llvm::Module& module, const std::function<bool(const llvm::Function&)>& records,
      const std::function<bool(ordering::EventId, ordering::EventId)>& are_alike) const;

 private:
  std::set<ordering::EventId> events_;  ///< events that were recorded
  std::set<const llvm::Instruction*> calls_;
  /// Waits for events that had not been recorded by then: (event, site), and the stream of the first such wait.
  std::map<std::pair<ordering::EventId, ordering::SiteId>, ordering::StreamId> waits_;
  std::vector<ordering::SiteId> by_host_;  ///< such waits of the host
  bool exported_ = false;
};

}  // namespace streamsan::analyzer::interpreter
