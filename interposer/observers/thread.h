// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is kept of the thread that makes a call.
#pragma once

#include "interposer/call.h"
#include "interposer/host/clock_reads.h"
#include "interposer/host/libc_frames.h"
#include "interposer/process.h"
#include "interposer/wrapped.h"

namespace streamsan::recorder {

/// Says that the thread is inside of a driver call, from here until the wrapper returns.
template <class Call>
class Inside {
 public:
  static constexpr bool kWatches = !is_start(Call::kKind);
  SS_OBSERVER void before(Call& call) {
    outer_ = t_thread.call_frame;
    t_thread.call_frame = call.frame;
    ++t_thread.calls;
  }
  SS_OBSERVER void after(Call&) { t_thread.call_frame = outer_; }
  SS_OBSERVER void failed(Call&) { t_thread.call_frame = outer_; }

 private:
  const void* outer_;
};

/// Says whether the last CUDA call of the thread was a wait.
template <class Call>
class Waits {
 public:
  static constexpr bool kWatches =
      is_modelled(Call::kKind) || Call::kKind == api::EffectKind::Later || Call::kKind == api::EffectKind::Share;
  SS_OBSERVER void before(Call&) {
    if constexpr (!leaves_all_as_it_was(Call::kKind)) forget_wait();
  }
  SS_OBSERVER void after(Call&) {
    if constexpr (is_blocking(Call::kEffect)) note_wait();
  }
  SS_OBSERVER void failed(Call&) {}
};

/// Looks for local variables that a copy still uses although their function has returned.
template <class Call>
class Frames {
 public:
  static constexpr bool kWatches = is_modelled(Call::kKind);
  SS_OBSERVER void before(Call& call) { check_frames(call.callers_stack); }
};

}  // namespace streamsan::recorder
