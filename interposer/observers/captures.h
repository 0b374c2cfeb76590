// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Captured calls: says which node of the graph each of them has made (graph_image.h).
#pragma once

#include "interposer/call.h"
#include "interposer/graph_image.h"
#include "interposer/launch_call.h"
#include "interposer/learning.h"
#include "interposer/observers/records.h"

namespace streamsan::recorder {

/// Rows whose call makes a node when its stream is being captured.
constexpr bool makes_node(api::EffectKind kind) {
  using api::EffectKind;
  return is_launch(kind) || kind == EffectKind::Copy || kind == EffectKind::Copy2D || kind == EffectKind::Copy3D ||
         kind == EffectKind::Fill || kind == EffectKind::Fill2D || kind == EffectKind::AllocAsync ||
         kind == EffectKind::FreeAsync || kind == EffectKind::EventRecord || kind == EffectKind::EventWait ||
         kind == EffectKind::HostFunction || kind == EffectKind::StreamAction || kind == EffectKind::StreamJoinsAll;
}

template <class Call>
class Captures {
  static constexpr bool kOfEvent =
      Call::kKind == api::EffectKind::EventRecord || Call::kKind == api::EffectKind::EventWait;

 public:
  static constexpr bool kWatches = makes_node(Call::kKind) && Call::kEffect.form == api::CallForm::Asynchronous;

  SS_OBSERVER void after(Call& call) {
    if (!any_capture()) [[likely]]
      return;
    // Only with the external flag is it a node; else it changes what the next node comes after. The flag of records has
    // the value of that of waits.
    if constexpr (kOfEvent) {
      if (word<Call::kEffect.flags>(call.arguments) != CU_EVENT_RECORD_EXTERNAL) return;
    }
    // Copies of nothing make no node.
    if constexpr (Call::kEffect.bytes != api::kAbsent && !is_launch(Call::kKind)) {
      if (word<Call::kEffect.bytes>(call.arguments) == 0) return;
    }
    if constexpr (is_launch(Call::kKind)) {
      note_captured(call.launch->stream(), Call::kApi, call.frame);
    } else {
      const auto meaning = api::kRows[Call::kRow].default_stream;
      note_captured(resolve_stream(word<Call::kEffect.stream>(call.arguments), meaning), Call::kApi, call.frame);
    }
  }
  SS_OBSERVER void failed(Call&) {}
};

}  // namespace streamsan::recorder
