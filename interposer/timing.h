// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recorder's side of the times (option timings): brackets the real call of each operation for the agent
// (timings/agent.h), and writes a GpuTime record for each time it hands back. Without the option an operation costs one
// load more.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/timings/agent.h"
#include "interposer/writer.h"

namespace streamsan::recorder {

/// Loads the agent if the options ask for times; one line if there will be none.
void start_timing();
/// In the child of a fork.
void forget_timing();

namespace detail {
extern constinit std::atomic<const StreamSanTimings*> g_timings;
}

/// Stands around the real call of a row that makes operations, up to where the call has its record. Empty for others.
template <bool kTimed>
class TimedCall {
 public:
  TimedCall() {
    if constexpr (kTimed) {
      agent_ = detail::g_timings.load(std::memory_order_acquire);
      if (agent_) [[unlikely]]
        agent_->begin();
    }
  }
  ~TimedCall() { became({}); }
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

  /// The call is over, and this is its record, if it has one.
  void became([[maybe_unused]] Slot slot) {
    if constexpr (kTimed) {
      if (agent_) [[unlikely]]
        agent_->end(slot ? slot.position : STREAMSAN_NO_RECORD);
      agent_ = nullptr;
    }
  }

 private:
  const StreamSanTimings* agent_ = nullptr;
};

}  // namespace streamsan::recorder
