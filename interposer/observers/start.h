// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls with which a program starts to use the driver: it looks up functions, and initialises the driver. They are
// observed even while we do not record.
#pragma once

#include <tuple>

#include "interposer/call.h"
#include "interposer/call_record.h"
#include "interposer/driver.h"
#include "interposer/process.h"
#include "interposer/stack.h"

namespace streamsan::recorder {

/// cuGetProcAddress. The driver decides which version of the function is meant. If we wrap that version, the address
/// that the program gets is replaced by our wrapper's.
template <class Call>
class Lookups {
 public:
  static constexpr bool kWatches = Call::kKind == api::EffectKind::Lookup;
  SS_OBSERVER void after(Call& call) {
    const char* name = std::get<0>(call.arguments);
    void** entry = std::get<1>(call.arguments);
    if (name && entry && *entry) *entry = wrapper_for_base(name, *entry);
  }
  SS_OBSERVER void failed(Call&) {}
};

/// cuInit: recording begins.
template <class Call>
class Start {
 public:
  static constexpr bool kWatches = Call::kKind == api::EffectKind::Init;
  SS_OBSERVER void before(Call&) { note_observed(); }
  SS_OBSERVER void after(Call& call) {
    if (!start_recording()) return;
    publish(CallRecord<Call::kRow, typename Call::Arguments>(call.arguments, capture_stack(call.frame)).fill());
  }
  SS_OBSERVER void failed(Call& call) { note_failed_start(call.result); }
};

}  // namespace streamsan::recorder
