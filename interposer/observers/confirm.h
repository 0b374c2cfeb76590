// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the options --perturb, --poison and --host_hash do at a call. The row says which arguments they need. Without
// these options a call costs one relaxed load for each option that its kind concerns.
#pragma once

#include <cstdint>
#include <tuple>

#include "interposer/call.h"
#include "interposer/decode.h"
#include "interposer/host/host_hash.h"
#include "interposer/launch_call.h"
#include "interposer/perturb.h"
#include "interposer/poison.h"
#include "interposer/streams.h"

namespace streamsan::recorder {

constexpr bool is_transfer(api::EffectKind kind) {
  using api::EffectKind;
  return kind == EffectKind::Copy || kind == EffectKind::Copy2D || kind == EffectKind::Copy3D ||
         kind == EffectKind::Fill || kind == EffectKind::Fill2D;
}

/// True if the call moves no byte. Such a call is no operation of its stream.
template <std::size_t kRow, class Arguments>
bool is_empty_transfer(const Arguments& arguments) {
  using api::EffectKind;
  constexpr api::Effect kEffect = api::kRows[kRow].effect;
  if constexpr (kEffect.kind == EffectKind::Copy2D || kEffect.kind == EffectKind::Copy3D) {
    auto descriptor = std::get<static_cast<std::size_t>(kEffect.src)>(arguments);
    return !descriptor || !descriptor->WidthInBytes || !descriptor->Height;
  } else if constexpr (kEffect.kind == EffectKind::Fill2D) {
    return !word<kEffect.bytes>(arguments) || !word<kEffect.height>(arguments);
  } else {
    return !word<kEffect.bytes>(arguments);
  }
}

template <class Call>
class Confirm {
  static constexpr api::Effect kEffect = Call::kEffect;
  static constexpr api::EffectKind kKind = Call::kKind;
  static constexpr bool kAsync = kEffect.form == api::CallForm::Asynchronous;
  static constexpr bool kMayUpload =
      kEffect.direction == api::Direction::HostToDevice || kEffect.direction == api::Direction::ByAddress;
  static constexpr bool kFrees = kKind == api::EffectKind::Free || kKind == api::EffectKind::FreeAsync ||
                                 kKind == api::EffectKind::FreeHost || kKind == api::EffectKind::ContextDestroy;
  static constexpr bool kGives = kKind == api::EffectKind::Alloc || kKind == api::EffectKind::AllocPitch ||
                                 kKind == api::EffectKind::AllocHost || kKind == api::EffectKind::AllocManaged ||
                                 kKind == api::EffectKind::AllocAsync;
  static constexpr bool kOthers = kKind == api::EffectKind::Map || kKind == api::EffectKind::Import;

 public:
  static constexpr bool kWatches =
      is_transfer(kKind) || is_launch(kKind) || kKind == api::EffectKind::GraphLaunch || kFrees || kGives || kOthers;

  SS_OBSERVER void before(Call& call) {
    if constexpr (is_launch(kKind) || kKind == api::EffectKind::GraphLaunch || (is_transfer(kKind) && kAsync)) {
      if (perturbing()) [[unlikely]]
        delay(call);
    }
    if constexpr (kKind == api::EffectKind::Copy && kAsync && kMayUpload) {
      if (hashing()) [[unlikely]] {
        hash_source(word<kEffect.src>(call.arguments), word<kEffect.bytes>(call.arguments), stream(call), Call::kApi,
                    call.frame);
      }
    }
    if constexpr (kFrees) {
      if (poisoning()) [[unlikely]]
        poison_before(call);
    }
  }
  SS_OBSERVER void after(Call& call) {
    if constexpr (kGives || kOthers) {
      if (poisoning()) [[unlikely]]
        poison_after(call);
    }
  }
  SS_OBSERVER void failed(Call&) {}

 private:
  static StreamArgument stream(const Call& call) {
    return known_stream(word<kEffect.stream>(call.arguments), api::kRows[Call::kRow].default_stream);
  }

  static void delay(const Call& call) {
    if constexpr (is_launch(kKind)) {
      delay_operation(call.launch->stream(), !call.launch->measured());
    } else if constexpr (is_transfer(kKind)) {
      if (!is_empty_transfer<Call::kRow>(call.arguments)) delay_operation(stream(call));
    } else {
      delay_operation(stream(call));
    }
  }

  static void poison_before(const Call& call) {
    const std::uint64_t object = word<kEffect.object>(call.arguments);
    if constexpr (kKind == api::EffectKind::Free) poison_before_free(object);
    if constexpr (kKind == api::EffectKind::FreeAsync) poison_before_free_async(object, stream(call));
    if constexpr (kKind == api::EffectKind::FreeHost) poison_before_free_host(object);
    if constexpr (kKind == api::EffectKind::ContextDestroy) forget_poison();
  }

  static void poison_after(const Call& call) {
    const auto& arguments = call.arguments;
    if constexpr (kKind == api::EffectKind::Map) {
      not_ours(word<kEffect.object>(arguments));
    } else if constexpr (kKind == api::EffectKind::Import) {
      not_ours(result_word<kEffect.object>(arguments));
    } else {
      std::uint64_t bytes = word<kEffect.bytes>(arguments);
      if constexpr (kKind == api::EffectKind::AllocPitch)
        bytes = result_word<kEffect.pitch>(arguments) * word<kEffect.height>(arguments);
      StreamArgument at{};
      if constexpr (kKind == api::EffectKind::AllocAsync) at = stream(call);
      allocated(result_word<kEffect.object>(arguments), bytes, memory_kind(kKind), at);
    }
  }
};

}  // namespace streamsan::recorder
