// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that returned an error, and would otherwise have submitted work or made order (failed_calls.h).
#pragma once

#include <cstdint>
#include <tuple>

#include "interposer/call.h"
#include "interposer/decode.h"
#include "interposer/failed_calls.h"

namespace streamsan::recorder {

template <class Call>
class Failures {
 public:
  static constexpr bool kWatches = makes_work_or_order(Call::kKind) || ends_memory(Call::kKind);

  SS_OBSERVER void after(Call&) {}
  SS_OBSERVER void failed(Call& call) {
    using api::EffectKind;
    if (is_ordinary(call.result)) [[likely]]
      return;
    if (ends_memory(Call::kKind) && !has_done_its_work(Call::kKind, call.result)) return;
    FailedCall failure{.api = Call::kApi,
                       .result = call.result,
                       .in_stream = is_in_stream(Call::kKind),
                       .stream = word<Call::kEffect.stream>(call.arguments),
                       .object = object(call.arguments)};
    if constexpr (Call::kKind == EffectKind::LaunchConfig) {
      const CUlaunchConfig* config = std::get<static_cast<std::size_t>(Call::kEffect.src)>(call.arguments);
      failure.in_stream = config != nullptr;
      if (config) failure.stream = reinterpret_cast<std::uint64_t>(config->hStream);
    }
    write_failed_call(failure, call.frame);
  }

 private:
  /// The field `object` of the record CallFailed: the event, the destination or the allocation of the call.
  static std::uint64_t object(const typename Call::Arguments& arguments) {
    using api::EffectKind;
    constexpr api::Effect kEffect = Call::kEffect;
    if constexpr (kEffect.event != api::kAbsent) {
      return word<kEffect.event>(arguments);
    } else if constexpr (kEffect.kind == EffectKind::Copy || kEffect.kind == EffectKind::Fill ||
                         kEffect.kind == EffectKind::Fill2D) {
      return word<kEffect.dst>(arguments);
    } else if constexpr (kEffect.kind == EffectKind::AllocAsync) {
      return 0;  // the argument is for the result, and a failed call writes none
    } else {
      return word<kEffect.object>(arguments);
    }
  }
};

}  // namespace streamsan::recorder
