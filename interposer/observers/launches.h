// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel launches: measures them if that is asked for, and writes their records (launch.h).
#pragma once

#include "interposer/call.h"
#include "interposer/launch_call.h"

namespace streamsan::recorder {

template <class Call>
class Launches {
 public:
  static constexpr bool kWatches = is_launch(Call::kKind);

  SS_OBSERVER void before(Call& call) {
    launch_ = &room_.make(call.arguments).launch;
    launch_->before(call.frame);
    call.launch = launch_;
  }
  SS_OBSERVER bool wants_retry(const Call& call) { return launch_->wants_retry(call.result == CUDA_SUCCESS); }
  SS_OBSERVER void after(Call& call) {
    call.slot = launch_->after(true, call.frame);
    record_launch_events<Call::kRow>(call.arguments, *launch_);
  }
  SS_OBSERVER void failed(Call& call) { launch_->after(false, call.frame); }

 private:
  struct Made {
    explicit Made(const typename Call::Arguments& arguments) : what(launch_call<Call::kRow>(arguments)), launch(what) {}
    LaunchCall what;
    Launch launch;
  };
  Room<Made> room_;
  Launch* launch_;
};

}  // namespace streamsan::recorder
