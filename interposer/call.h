// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One call of a wrapped driver function, as its observers see it.
//
// AN OBSERVER is a class template of the Call with
//
//   static constexpr bool kWatches    does it watch calls of this row? If not, it adds no code to the wrapper
//   void before(Call&)                runs before the driver's function is called
//   void after(Call&)                 runs after a call that succeeded
//   void failed(Call&)                runs after a call that returned an error
//
// It needs before() if it is in the list OrderBefore of observers.h, and after() and failed() if it is in OrderAfter.
// The functions are SS_OBSERVER: inlined into the wrapper. What an observer keeps from before() to after() are members
// of its own; what other observers need of it is a member of the Call. The address of a Call, or of a member, is never
// passed to code that is not inlined, so that the call stays in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/host/host_side.h"
#include "interposer/writer.h"
#include "ordering/api/row.h"

#define SS_OBSERVER [[gnu::always_inline]]

namespace streamsan::recorder {

class Launch;

/// Space for a T that is made later, or never, and never destroyed: a std::optional without its flag.
template <class T>
class Room {
 public:
  template <class... Arguments>
  SS_OBSERVER T& make(const Arguments&... arguments) {
    static_assert(std::is_trivially_destructible_v<T>);
    return *new (bytes_) T(arguments...);
  }

 private:
  alignas(T) std::byte bytes_[sizeof(T)];
};

template <std::size_t kTheRow, class TheArguments>
struct Call {
  static constexpr std::size_t kRow = kTheRow;
  static constexpr std::uint16_t kApi = kTheRow;
  static constexpr api::Effect kEffect = api::kRows[kTheRow].effect;
  static constexpr api::EffectKind kKind = kEffect.kind;
  using Arguments = TheArguments;

  const Arguments arguments;        ///< a tuple
  const void* const frame;          ///< __builtin_frame_address(0) of the wrapper
  const void* const callers_stack;  ///< SS_CALLERS_STACK() of it
  CUresult result = CUDA_SUCCESS;

  Slot slot{};                       ///< its record, once that is reserved
  const CallWords* words = nullptr;  ///< copied from the record before that is published; not of launches
  const Launch* launch = nullptr;    ///< of a row that is_launch()
  std::uint64_t made = 0;            ///< monotonic_ns() of a synchronous call that is recorded
  std::uint64_t returned = 0;        ///< monotonic_ns() when it had returned
};

/// The calls of observers/start.h.
constexpr bool is_start(api::EffectKind kind) {
  return kind == api::EffectKind::Lookup || kind == api::EffectKind::Init;
}

/// The host waits in the call. Such a call has a second record, made when it returns.
constexpr bool is_blocking(const api::Effect& effect) {
  return effect.form == api::CallForm::Synchronous && effect.point == api::RecordPoint::Begin;
}

/// Calls of which the recorder makes records, or learns what a stream or kernel is.
constexpr bool is_modelled(api::EffectKind kind) {
  return !is_start(kind) && kind != api::EffectKind::Later && kind != api::EffectKind::Share &&
         kind != api::EffectKind::Pass;
}

}  // namespace streamsan::recorder
