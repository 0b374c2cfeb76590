// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes records of calls. A few calls make no record; they change tables of the recorder.
//
// The record of a Begin row is reserved and filled before the call, and published after it. The judge reads records in
// order, and does not go past one that is not published. The record of an End row is made after the call, and only if
// the call succeeded.
#pragma once

#include <cstdint>

#include "interposer/arrays.h"
#include "interposer/call.h"
#include "interposer/call_record.h"
#include "interposer/clock.h"
#include "interposer/failed_calls.h"
#include "interposer/functions.h"
#include "interposer/launch_call.h"
#include "interposer/launch_list.h"
#include "interposer/process.h"
#include "interposer/semaphores.h"
#include "interposer/stack.h"
#include "interposer/streams.h"
#include "interposer/unmodelled.h"
#include "interposer/wrapped.h"

namespace streamsan::recorder {

/// Calls that do nothing but wait, perhaps for long. Their records are published before the call, so that the judge
/// need not wait as well. Whether they succeeded is in the record CallEnd.
constexpr bool is_published_at_once(api::EffectKind kind) {
  using api::EffectKind;
  return kind == EffectKind::SyncStream || kind == EffectKind::SyncEvent || kind == EffectKind::SyncContext;
}

/// End rows that CallRecord makes no record of: functions of their own note what happened.
constexpr bool is_noted(api::EffectKind kind) {
  return kind == api::EffectKind::StreamCreate || kind == api::EffectKind::FunctionLookup ||
         kind == api::EffectKind::LaunchList || kind == api::EffectKind::ArrayPart;
}

/// Reserves and fills the call's record. Launches make theirs in launch.cpp.
template <class Call>
SS_OBSERVER inline void fill_record(Call& call, Room<CallWords>& words) {
  const Slot slot = CallRecord<Call::kRow, typename Call::Arguments>(call.arguments, capture_stack(call.frame)).fill();
  call.slot = slot;
  call.words = &words.make(slot);
}

/// Writes the second record of a blocking call, CallEnd: the host knows something from here on.
inline void record_return(std::uint64_t position, std::uint16_t api, bool succeeded, std::uint64_t made,
                          std::uint64_t returned) {
  Slot slot = start_record({.kind = trace::Kind::CallEnd, .api = api});
  if (!slot) return;
  auto& w = slot.record->as<trace::Kind::CallEnd>();
  w.position = position;
  w.made = made;
  w.returned = returned;
  publish(slot, succeeded ? trace::State::Published : trace::State::Cancelled);
}

template <class Call>
class BeginRecords {
  static constexpr bool kAtOnce = is_published_at_once(Call::kKind);

 public:
  static constexpr bool kWatches = is_modelled(Call::kKind) && Call::kEffect.point == api::RecordPoint::Begin;

  SS_OBSERVER void before(Call& call) {
    fill_record(call, words_);
    if constexpr (kAtOnce) publish(call.slot);
  }
  SS_OBSERVER void after(Call& call) { finish(call, true); }
  SS_OBSERVER void failed(Call& call) { finish(call, has_done_its_work(Call::kKind, call.result)); }

 private:
  SS_OBSERVER void finish(Call& call, bool succeeded) {
    if constexpr (!kAtOnce) publish(call.slot, succeeded ? trace::State::Published : trace::State::Cancelled);
    if constexpr (is_blocking(Call::kEffect)) {
      if (call.slot) record_return(call.slot.position, Call::kApi, succeeded, call.made, call.returned);
    }
  }

  Room<CallWords> words_;
};

template <class Call>
class EndRecords {
 public:
  static constexpr bool kWatches =
      is_modelled(Call::kKind) && !is_launch(Call::kKind) && Call::kEffect.point == api::RecordPoint::End;

  SS_OBSERVER void after(Call& call) {
    if constexpr (Call::kKind == api::EffectKind::StreamCreate) {
      stream_created(result_word<Call::kEffect.object>(call.arguments), Call::kApi, capture_stack(call.frame));
    } else if constexpr (Call::kKind == api::EffectKind::FunctionLookup) {
      function_looked_up(result_word<Call::kEffect.object>(call.arguments), Call::kEffect.makes_kernel);
    } else if constexpr (Call::kKind == api::EffectKind::LaunchList) {
      record_launch_list(std::get<Call::kEffect.src>(call.arguments), word<Call::kEffect.count>(call.arguments),
                         word<Call::kEffect.flags>(call.arguments), Call::kApi, call.frame);
    } else if constexpr (Call::kKind == api::EffectKind::ArrayPart) {
      const std::uint64_t part = result_word<Call::kEffect.object>(call.arguments);
      const std::uint64_t whole = word<Call::kEffect.src>(call.arguments);
      const std::uint64_t number = word<Call::kEffect.count>(call.arguments);
      using Whole = std::tuple_element_t<static_cast<std::size_t>(Call::kEffect.src), typename Call::Arguments>;
      if constexpr (std::is_same_v<Whole, CUmipmappedArray>) {
        level_made(part, whole, number);
      } else {
        plane_made(part, whole, number);
      }
    } else if constexpr (Call::kEffect.semaphores) {
      call.words = &words_.make(Slot{});  // others look at them
      record_semaphores(
          std::get<Call::kEffect.object>(call.arguments), std::get<Call::kEffect.src>(call.arguments),
          word<Call::kEffect.count>(call.arguments),
          resolve_stream(word<Call::kEffect.stream>(call.arguments), api::kRows[Call::kRow].default_stream), Call::kApi,
          call.frame);
    } else {
      fill_record(call, words_);
      publish(call.slot);
    }
  }
  /// A failed EndCapture ends the capture all the same (R-GRF-10).
  SS_OBSERVER void failed(Call& call) {
    if constexpr (Call::kKind == api::EffectKind::CaptureEnd) after(call);
  }

 private:
  Room<CallWords> words_;
};

/// Takes the times at which a blocking call was made and at which it returned.
template <class Call>
class Clock {
 public:
  static constexpr bool kWatches = BeginRecords<Call>::kWatches && is_blocking(Call::kEffect);
  SS_OBSERVER void before(Call& call) { call.made = monotonic_ns(); }
  SS_OBSERVER void after(Call& call) { call.returned = monotonic_ns(); }
  SS_OBSERVER void failed(Call& call) { after(call); }
};

/// Records calls that ask for the time between two events.
template <class Call>
class EventTimes {
 public:
  static constexpr bool kWatches = Call::kEffect.asks_event_time;
  SS_OBSERVER void after(Call& call) {
    const std::uint32_t stack = capture_stack(call.frame);
    Slot slot = start_record({.kind = trace::Kind::EventTime, .api = Call::kApi, .stack = stack});
    if (!slot) return;
    auto& w = slot.record->template as<trace::Kind::EventTime>();
    w.first = word<1>(call.arguments);
    w.second = word<2>(call.arguments);
    publish(slot);
  }
  SS_OBSERVER void failed(Call&) {}
};

/// Calls of rows that are not modelled, and those that name memory for others: counts them, and nothing else.
template <class Call>
class Unmodelled {
 public:
  static constexpr bool kWatches = Call::kKind == api::EffectKind::Later || Call::kKind == api::EffectKind::Share;
  SS_OBSERVER void before(Call&) { note_later(Call::kRow); }
};

}  // namespace streamsan::recorder
