// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wrappers: one template, one instance for each row of the table that is_wrapped().
//
//   forward if not recording or if the driver itself calls -> (Begin rows: reserve and fill the record) -> real call
//                            -> (End rows: record if it succeeded) -> (if it failed: failed_calls.h)
//                            -> return the driver's result, untouched
//
// HOW TO ADD A FUNCTION: a row in ordering/api/cuda_api.def is all it takes, unless its EffectKind is new; then add a
// case to CallRecord::fill() (call_record.h). Signatures come from cuda.h.
//
// Calls made by the driver through its own exports, or by a tool inside a call, are not recorded: the outer call says
// what they do. No lock is held across a real call, ever.
#include "interposer/call_record.h"
#include "interposer/clock.h"
#include "interposer/confirm.h"
#include "interposer/driver.h"
#include "interposer/failed_calls.h"
#include "interposer/functions.h"
#include "interposer/gate.h"
#include "interposer/host/clock_reads.h"
#include "interposer/host/host_side.h"
#include "interposer/host/libc_frames.h"
#include "interposer/launch_call.h"
#include "interposer/learning.h"
#include "interposer/machine.h"
#include "interposer/process.h"
#include "interposer/stack.h"
#include "interposer/streams.h"
#include "interposer/timing.h"
#include "interposer/unmodelled.h"
#include "interposer/wrapped.h"
#include "interposer/writer.h"

#include <cudaProfiler.h>

namespace streamsan::recorder {
namespace {

using api::CallForm;
using api::Effect;
using api::EffectKind;
using api::RecordPoint;
using trace::Kind;

/// Calls that block for long and say nothing but "I wait": their records are published at once, lest the judge wait
/// too. The CallEnd says whether they succeeded.
constexpr bool is_published_at_once(EffectKind kind) {
  return kind == EffectKind::SyncStream || kind == EffectKind::SyncEvent || kind == EffectKind::SyncContext;
}

/// An EndCapture that fails ends the capture all the same, unless the call was no end of it (R-GRF-10).
constexpr bool ends_capture(CUresult result) {
  return result != CUDA_ERROR_ILLEGAL_STATE && result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD &&
         result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_INVALID_HANDLE &&
         result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
}

/// What follows a successful call of a kind that is not one record made by CallRecord.
template <std::size_t kRow, class Arguments>
void record_special(const Arguments& arguments, const void* frame) {
  constexpr Effect kEffect = api::kRows[kRow].effect;
  if constexpr (kEffect.kind == EffectKind::StreamCreate) {
    stream_created(result_word<kEffect.object>(arguments), static_cast<std::uint16_t>(kRow), capture_stack(frame));
  } else {
    static_assert(kEffect.kind == EffectKind::FunctionLookup);
    function_looked_up(result_word<kEffect.object>(arguments), kEffect.makes_kernel);
  }
}

constexpr bool is_special(EffectKind kind) {
  return kind == EffectKind::StreamCreate || kind == EffectKind::FunctionLookup;
}

/// When a blocking call was made, and when it had returned.
struct CallTimes {
  std::uint64_t made;
  std::uint64_t returned;
};

void record_return(std::uint64_t position, std::uint16_t api, bool succeeded, CallTimes times) {
  Slot slot = reserve(0);
  if (!slot) return;
  slot.record->kind = Kind::CallEnd;
  slot.record->api = api;
  slot.record->thread = thread_number();
  auto& w = slot.record->as<Kind::CallEnd>();
  w.position = position;
  w.made = times.made;
  w.returned = times.returned;
  publish(slot, succeeded ? trace::State::Published : trace::State::Cancelled);
}

void record_event_time(std::uint16_t api, std::uint64_t first, std::uint64_t second, const void* frame) {
  const std::uint32_t stack = capture_stack(frame);
  Slot slot = reserve(0);
  if (!slot) return;
  slot.record->kind = Kind::EventTime;
  slot.record->api = api;
  slot.record->thread = thread_number();
  slot.record->stack = stack;
  auto& w = slot.record->as<Kind::EventTime>();
  w.first = first;
  w.second = second;
  publish(slot);
}

template <std::size_t kRow, class Signature>
struct Hook;

template <std::size_t kRow, class... Parameters>
struct Hook<kRow, CUresult (*)(Parameters...)> {
  static constexpr Effect kEffect = api::kRows[kRow].effect;
  using Arguments = std::tuple<Parameters...>;

  static CUresult call(Parameters... parameters) {
    auto real = reinterpret_cast<CUresult (*)(Parameters...)>(driver_entry(kRow));
    // Linked against a newer driver than is installed, or called without one.
    if (!real) [[unlikely]]
      return CUDA_ERROR_NOT_INITIALIZED;
    if constexpr (kEffect.kind == EffectKind::Lookup) {
      return look_up(real, parameters...);
    } else if constexpr (kEffect.kind == EffectKind::Init) {
      note_observed();
      CUresult result = real(parameters...);
      if (result == CUDA_SUCCESS && start_recording()) {
        const Arguments arguments(parameters...);
        publish(CallRecord<kRow, Arguments>(arguments, capture_stack(__builtin_frame_address(0))).fill());
      }
      return result;
    } else if (!recording() || is_in_driver(__builtin_return_address(0))) {
      return real(parameters...);
    } else if constexpr (kEffect.kind == EffectKind::Later) {
      note_later(kRow);
      const InCall in_call(__builtin_frame_address(0));
      forget_wait();
      // Some of these launch kernels.
      const bool gated = learning();
      if (gated) Gate::enter();
      CUresult result = real(parameters...);
      if (gated) Gate::leave();
      return result;
    } else if constexpr (kEffect.asks_event_time) {
      const void* frame = __builtin_frame_address(0);
      const InCall in_call(frame);
      const Arguments arguments(parameters...);
      CUresult result = real(parameters...);
      if (result == CUDA_SUCCESS)
        record_event_time(static_cast<std::uint16_t>(kRow), word<1>(arguments), word<2>(arguments), frame);
      return result;
    } else {
      const void* frame = __builtin_frame_address(0);
      const InCall in_call(frame);
      if constexpr (!leaves_all_as_it_was(kEffect.kind)) forget_wait();
      check_frames(SS_CALLERS_STACK());
      const Arguments arguments(parameters...);
      if constexpr (kEffect.point == RecordPoint::Begin) {
        Slot slot = CallRecord<kRow, Arguments>(arguments, capture_stack(frame)).fill();
        constexpr bool kAtOnce = is_published_at_once(kEffect.kind);
        const CallWords words(slot);
        if constexpr (kAtOnce) publish(slot);
        host_side_before(words);
        confirm_before<kRow>(arguments, frame);
        constexpr bool kBlocks = kEffect.form == CallForm::Synchronous;
        CallTimes times{};
        if constexpr (kBlocks) times.made = monotonic_ns();
        TimedCall<is_transfer(kEffect.kind)> timed;
        CUresult result = real(parameters...);
        if constexpr (kBlocks) times.returned = monotonic_ns();
        bool succeeded = result == CUDA_SUCCESS;
        if (succeeded) timed.became(slot);
        if (succeeded) host_side_after(words, SS_CALLERS_STACK());
        if constexpr (!kAtOnce) publish(slot, succeeded ? trace::State::Published : trace::State::Cancelled);
        if constexpr (kBlocks) {
          if (slot) record_return(slot.position, static_cast<std::uint16_t>(kRow), succeeded, times);
        }
        record_failure<kRow>(arguments, result, frame);
        if constexpr (kBlocks) {
          if (succeeded) note_wait();
        }
        return result;
      } else if constexpr (is_launch(kEffect.kind)) {
        const LaunchCall what = launch_call<kRow>(arguments);
        Launch launch(what);
        launch.before(frame);
        if (perturbing()) [[unlikely]]
          delay_operation(what.stream, !launch.measured());
        TimedCall<true> timed;
        CUresult result = real(parameters...);
        if (launch.wants_retry(result == CUDA_SUCCESS)) result = real(parameters...);
        timed.became(launch.after(result == CUDA_SUCCESS, frame));
        if (result == CUDA_SUCCESS) record_launch_events<kRow>(arguments, launch);
        record_failure<kRow>(arguments, result, frame);
        return result;
      } else {
        // Others must not meet kernels while they are patched, nor a capture while one is measured.
        constexpr bool kCaptures = kEffect.kind == EffectKind::CaptureBegin;
        const bool gated = (kCaptures || kEffect.kind == EffectKind::GraphLaunch) && learning();
        if (gated) Gate::enter();
        if constexpr (kCaptures) capture_begins();
        confirm_before<kRow>(arguments, frame);
        TimedCall<is_transfer(kEffect.kind) || kEffect.kind == EffectKind::GraphLaunch> timed;
        CUresult result = real(parameters...);
        if (kCaptures && result != CUDA_SUCCESS) capture_ended();
        if (gated) Gate::leave();
        if (kEffect.kind == EffectKind::CaptureEnd && ends_capture(result)) capture_ended();
        record_failure<kRow>(arguments, result, frame);
        // A failed EndCapture ends the capture all the same (R-GRF-10).
        if (result != CUDA_SUCCESS && kEffect.kind != EffectKind::CaptureEnd) return result;
        if (result == CUDA_SUCCESS) confirm_after<kRow>(arguments);
        if constexpr (is_special(kEffect.kind)) {
          record_special<kRow>(arguments, frame);
        } else {
          const Slot slot = CallRecord<kRow, Arguments>(arguments, capture_stack(frame)).fill();
          const CallWords words(slot);
          publish(slot);
          timed.became(slot);
          host_side_after(words, SS_CALLERS_STACK());
        }
        return result;
      }
    }
  }

 private:
  /// cuGetProcAddress: the real one decides which version is meant; we only swap the address it returns for our
  /// wrapper.
  template <class Real, class... Rest>
  static CUresult look_up(Real real, const char* name, void** entry, Rest... rest) {
    CUresult result = real(name, entry, rest...);
    if (result == CUDA_SUCCESS && name && entry && *entry) *entry = wrapper_for_base(name, *entry);
    return result;
  }
};

template <std::size_t kRow, class Signature>
constexpr void* wrapper_of() {
  if constexpr (is_wrapped(api::kRows[kRow])) {
    return reinterpret_cast<void*>(&Hook<kRow, Signature>::call);
  } else {
    return nullptr;
  }
}

}  // namespace
}  // namespace streamsan::recorder

// Read by the exported entry points (exports.S, generated from the table) and by driver.cpp.
extern "C" {
void* const streamsan_wrappers[] = {
#define SS_API(symbol_, ...) streamsan::recorder::wrapper_of<streamsan::api::Index::symbol_, decltype(&::symbol_)>(),
#include "ordering/api/cuda_api.def"
#undef SS_API
};
}
