// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What --perturb, --poison and --host_hash do about a call, by the positions of its row. Without these options a call
// costs the relaxed loads of their switches, and none where its kind does not matter to them.
#pragma once

#include <cstdint>
#include <tuple>

#include "interposer/decode.h"
#include "interposer/host/host_hash.h"
#include "interposer/perturb.h"
#include "interposer/poison.h"
#include "interposer/streams.h"

namespace streamsan::recorder {

constexpr bool is_transfer(api::EffectKind kind) {
  using api::EffectKind;
  return kind == EffectKind::Copy || kind == EffectKind::Copy2D || kind == EffectKind::Copy3D ||
         kind == EffectKind::Fill || kind == EffectKind::Fill2D;
}

/// Does the call move no byte? Such a call is no operation of its stream.
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

/// Right before the real call of a row that is no launch.
template <std::size_t kRow, class Arguments>
void confirm_before(const Arguments& arguments, const void* frame) {
  using api::EffectKind;
  constexpr api::Effect kEffect = api::kRows[kRow].effect;
  constexpr api::DefaultStream kDefault = api::kRows[kRow].default_stream;
  [[maybe_unused]] const auto stream = [&] { return known_stream(word<kEffect.stream>(arguments), kDefault); };
  constexpr bool kAsync = kEffect.form == api::CallForm::Asynchronous;
  if constexpr (is_transfer(kEffect.kind) && kAsync) {
    if (perturbing() && !is_empty_transfer<kRow>(arguments)) [[unlikely]]
      delay_operation(stream());
  }
  if constexpr (kEffect.kind == EffectKind::GraphLaunch) {
    if (perturbing()) [[unlikely]]
      delay_operation(stream());
  }
  constexpr bool kMayUpload =
      kEffect.direction == api::Direction::HostToDevice || kEffect.direction == api::Direction::ByAddress;
  if constexpr (kEffect.kind == EffectKind::Copy && kAsync && kMayUpload) {
    if (hashing()) [[unlikely]] {
      hash_source(word<kEffect.src>(arguments), word<kEffect.bytes>(arguments), stream(),
                  static_cast<std::uint16_t>(kRow), frame);
    }
  }
  if constexpr (kEffect.kind == EffectKind::Free || kEffect.kind == EffectKind::FreeAsync ||
                kEffect.kind == EffectKind::FreeHost || kEffect.kind == EffectKind::ContextDestroy) {
    if (!poisoning()) [[likely]]
      return;
    if constexpr (kEffect.kind == EffectKind::Free) poison_before_free(word<kEffect.object>(arguments));
    if constexpr (kEffect.kind == EffectKind::FreeAsync)
      poison_before_free_async(word<kEffect.object>(arguments), stream());
    if constexpr (kEffect.kind == EffectKind::FreeHost) poison_before_free_host(word<kEffect.object>(arguments));
    if constexpr (kEffect.kind == EffectKind::ContextDestroy) forget_poison();
  }
}

/// Right after a successful call.
template <std::size_t kRow, class Arguments>
void confirm_after(const Arguments& arguments) {
  using api::EffectKind;
  constexpr api::Effect kEffect = api::kRows[kRow].effect;
  constexpr bool kOurs = kEffect.kind == EffectKind::Alloc || kEffect.kind == EffectKind::AllocPitch ||
                         kEffect.kind == EffectKind::AllocHost || kEffect.kind == EffectKind::AllocManaged ||
                         kEffect.kind == EffectKind::AllocAsync;
  if constexpr (kOurs || kEffect.kind == EffectKind::Map || kEffect.kind == EffectKind::Import) {
    if (!poisoning()) [[likely]]
      return;
    if constexpr (kEffect.kind == EffectKind::Map) {
      not_ours(word<kEffect.object>(arguments));
    } else if constexpr (kEffect.kind == EffectKind::Import) {
      not_ours(result_word<kEffect.object>(arguments));
    } else {
      std::uint64_t bytes = word<kEffect.bytes>(arguments);
      if constexpr (kEffect.kind == EffectKind::AllocPitch)
        bytes = result_word<kEffect.pitch>(arguments) * word<kEffect.height>(arguments);
      StreamArgument stream{};
      if constexpr (kEffect.kind == EffectKind::AllocAsync)
        stream = known_stream(word<kEffect.stream>(arguments), api::kRows[kRow].default_stream);
      allocated(result_word<kEffect.object>(arguments), bytes, memory_kind(kEffect.kind), stream);
    }
  }
}

}  // namespace streamsan::recorder
