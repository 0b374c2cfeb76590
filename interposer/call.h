// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One call of a wrapped driver function, as those who observe it see it.
//
// AN OBSERVER is a class template of the Call with
//
//   static constexpr bool kWatches    is it concerned with calls of this row? Else the wrapper has nothing of it
//   void before(Call&)                before the driver's function is called
//   void after(Call&)                 it was called and succeeded
//   void failed(Call&)                it was called and returned an error
//
// of which it has the first if observers.h names it for the time before the call, and the other two if it is named for
// the time after it. They are SS_OBSERVER, which puts them into the wrapper: what an observer costs is what it does.
// What it has to keep from before() to after() are members of its own; what others need of it stands in the Call. Nobody
// passes the address of anything in a Call to code that is not inlined, so that the call stays in registers.
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

/// Where a T is made later, if at all, and left behind as it is: a std::optional without its flag.
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

  Slot slot{};                       ///< its record, from when it is reserved
  const CallWords* words = nullptr;  ///< copied from the record before that is published; not of launches
  const Launch* launch = nullptr;    ///< of a row that is_launch()
  std::uint64_t made = 0;            ///< monotonic_ns() of a synchronous call that is recorded
  std::uint64_t returned = 0;        ///< and when it had returned
};

/// The driver is called to get started, recording or not.
constexpr bool is_start(api::EffectKind kind) {
  return kind == api::EffectKind::Lookup || kind == api::EffectKind::Init;
}

/// The host waits in the call: it has a second record, when it returns.
constexpr bool is_blocking(const api::Effect& effect) {
  return effect.form == api::CallForm::Synchronous && effect.point == api::RecordPoint::Begin;
}

/// Calls that have a record of their own, or that a launch, a stream or a kernel is known from.
constexpr bool is_modelled(api::EffectKind kind) {
  return !is_start(kind) && kind != api::EffectKind::Later && kind != api::EffectKind::Pass;
}

}  // namespace streamsan::recorder
