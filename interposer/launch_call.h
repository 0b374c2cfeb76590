// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the arguments of a launching call to a LaunchCall, by the positions of the call's row, as decode.h does it for
// other calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "interposer/decode.h"
#include "interposer/launch.h"
#include "interposer/streams.h"

namespace streamsan::recorder {

constexpr bool is_launch(api::EffectKind kind) {
  return kind == api::EffectKind::Launch || kind == api::EffectKind::LaunchConfig;
}

/// The launch a call asks for.
template <std::size_t kRow, class Arguments>
LaunchCall launch_call(const Arguments& arguments) {
  constexpr const api::Row& kDescription = api::kRows[kRow];
  constexpr api::Effect kEffect = kDescription.effect;
  constexpr auto kParams = static_cast<std::size_t>(kEffect.params);
  LaunchCall call{.function = word<kEffect.object>(arguments),
                  .params = std::get<kParams>(arguments),
                  .api = static_cast<std::uint16_t>(kRow)};
  if constexpr (kParams + 1 < std::tuple_size_v<Arguments>) call.extra = std::get<kParams + 1>(arguments);
  if constexpr (kEffect.kind == api::EffectKind::Launch) {
    const std::uint64_t extents[6] = {word<kEffect.extents>(arguments),     word<kEffect.extents + 1>(arguments),
                                      word<kEffect.extents + 2>(arguments), word<kEffect.extents + 3>(arguments),
                                      word<kEffect.extents + 4>(arguments), word<kEffect.extents + 5>(arguments)};
    std::copy(extents, extents + 6, call.extents);
    call.shared_bytes = word<kEffect.extents + 6>(arguments);
    call.stream = resolve_stream(word<kEffect.stream>(arguments), kDescription.default_stream);
  } else {
    const CUlaunchConfig* given = std::get<static_cast<std::size_t>(kEffect.src)>(arguments);
    if (!given) return call;  // the driver will refuse it
    const CUlaunchConfig& config = *given;
    const std::uint64_t extents[6] = {config.gridDimX,  config.gridDimY,  config.gridDimZ,
                                      config.blockDimX, config.blockDimY, config.blockDimZ};
    std::copy(extents, extents + 6, call.extents);
    call.shared_bytes = config.sharedMemBytes;
    call.stream = resolve_stream(reinterpret_cast<std::uint64_t>(config.hStream), kDescription.default_stream);
    for (unsigned i = 0; config.attrs && i < config.numAttrs; ++i) {
      call.programmatic |= config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                           config.attrs[i].value.programmaticStreamSerializationAllowed;
    }
  }
  return call;
}

/// Events that attributes of the launch record.
template <std::size_t kRow, class Arguments>
void record_launch_events(const Arguments& arguments, const Launch& launch) {
  constexpr api::Effect kEffect = api::kRows[kRow].effect;
  if constexpr (kEffect.kind == api::EffectKind::LaunchConfig) {
    const CUlaunchConfig& config = *std::get<static_cast<std::size_t>(kEffect.src)>(arguments);
    for (unsigned i = 0; i < config.numAttrs; ++i) {
      const CUlaunchAttributeValue& value = config.attrs[i].value;
      if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
        launch.recorded_event(reinterpret_cast<std::uint64_t>(value.programmaticEvent.event),
                              static_cast<std::uint64_t>(value.programmaticEvent.flags),
                              value.programmaticEvent.triggerAtBlockStart ? trace::kAtStart : trace::kAtTrigger);
      } else if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
        launch.recorded_event(reinterpret_cast<std::uint64_t>(value.launchCompletionEvent.event),
                              static_cast<std::uint64_t>(value.launchCompletionEvent.flags), trace::kAtStart);
      }
    }
  }
}

}  // namespace streamsan::recorder
