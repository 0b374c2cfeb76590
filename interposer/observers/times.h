// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the agent that takes times on the GPU where an operation's call begins and ends (timing.h).
#pragma once

#include "interposer/call.h"
#include "interposer/launch_call.h"
#include "interposer/observers/confirm.h"
#include "interposer/timing.h"

namespace streamsan::recorder {

template <class Call>
class Times {
 public:
  static constexpr bool kWatches =
      is_transfer(Call::kKind) || is_launch(Call::kKind) || Call::kKind == api::EffectKind::GraphLaunch;

  SS_OBSERVER void before(Call&) {
    agent_ = detail::g_timings.load(std::memory_order_acquire);
    if (agent_) [[unlikely]]
      agent_->begin();
  }
  SS_OBSERVER void after(Call& call) {
    if (agent_) [[unlikely]]
      agent_->end(call.slot ? call.slot.position : STREAMSAN_NO_RECORD);
  }
  SS_OBSERVER void failed(Call&) {
    if (agent_) [[unlikely]]
      agent_->end(STREAMSAN_NO_RECORD);
  }

 private:
  const StreamSanTimings* agent_ = nullptr;
};

}  // namespace streamsan::recorder
