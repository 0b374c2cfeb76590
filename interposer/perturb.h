// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Delays that make a suspected race show in the program's own results (--perturb=MS).
//
// A race that was found in the order of calls may never have happened: on an idle GPU the first operation has ended
// long before the second begins. So the recorder puts a host function that sleeps into the same stream before an
// operation: work that is not ordered after the operation overtakes it. The function adds no order except in its own
// stream, so a correct program computes the same as before, only later.
//
// Delayed are launches, graph launches, asynchronous copies and fills, in every stream, the legacy stream too (a host
// function there is a barrier in front of a barrier). Not delayed are empty operations; blocking copies, after which
// the host waits (a delay would only let the other side finish first); measured launches; and captured streams.
//
// WHICH are delayed follows from (seed, number of the stream, number of the operation within the stream) alone:
//   * of the streams 2k and 2k+1, in the order in which the program made them, the seed makes one slow: the first
//     kSlowOperations operations of a slow stream are all delayed. Two racing streams are often made one after the
//     other, and if both were slow nothing would be gained. The legacy stream is slow if stream 0 is not. Per-thread
//     default streams are numbered by thread and paired as created ones are;
//   * of all other operations about one in kOneIn is delayed.
// Seeds are tried one after the other; the same seed delays the same operations as long as the program makes its
// streams in the same order and submits to each in the same order.
//
// DEADLOCK. A sleeping function waits for nothing, and makes no CUDA call. The driver may run the host functions of
// different streams one after the other. If a host function of the program waits for other GPU work, that work may be
// behind a sleeping function that the driver runs only afterwards. cuLaunchHostFunc forbids such functions for this
// reason.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/handle_table.h"
#include "interposer/streams.h"

namespace streamsan::recorder {

/// What a stream is numbered by: created streams from 0 upward, and apart from them
inline constexpr std::uint32_t kLegacyNumber = 0xffff'ffff;
inline constexpr std::uint32_t kThreadNumbers = 0x8000'0000;  ///< plus the thread's number: its default stream

inline constexpr std::uint32_t kSlowOperations = 128;
inline constexpr std::uint32_t kOneIn = 8;

constexpr std::uint64_t perturb_hash(std::uint32_t seed, std::uint32_t stream, std::uint32_t operation) {
  // Numbers that follow one another must not make a pattern: a loop would always be delayed at the same place.
  return mix_bits(mix_bits(mix_bits(mix_bits(seed + 1ull) + stream) + operation)) >> 32;
}

constexpr bool is_slow_stream(std::uint32_t seed, std::uint32_t stream) {
  if (stream == kLegacyNumber) return !is_slow_stream(seed, 0);
  return (stream & 1) == (perturb_hash(seed, stream & ~1u, ~0u) & 1);
}

/// Is operation number `operation`, counted from 0, of the stream delayed?
constexpr bool is_delayed(std::uint32_t seed, std::uint32_t stream, std::uint32_t operation) {
  if (operation < kSlowOperations && is_slow_stream(seed, stream)) return true;
  return perturb_hash(seed, stream, operation) % kOneIn == 0;
}

namespace detail {
extern constinit std::atomic<std::uint32_t> g_delay_ms;
}

/// One relaxed load; false unless the option is given.
inline bool perturbing() { return detail::g_delay_ms.load(std::memory_order_relaxed) != 0; }

/// Reads the options, when recording begins, and looks up what is needed: a later look-up might have to wait for the
/// loader.
void start_perturbing();

/// A stream was made, and gets its number; it goes. Only while perturbing().
void number_stream(std::uint64_t handle);
void forget_number(std::uint64_t handle);

/// An operation is about to be submitted to the stream (handle 0: none that is known). Only while perturbing().
void delay_operation(StreamArgument stream, bool may_delay = true);

/// At exit: with verbosity 1 says how many operations were delayed.
void say_delays();

}  // namespace streamsan::recorder
