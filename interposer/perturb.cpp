// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/perturb.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <time.h>

#include <cerrno>

#include "interposer/driver.h"
#include "interposer/fork.h"
#include "interposer/hot.h"
#include "interposer/process.h"
#include "trace/format.h"

namespace streamsan::recorder {

namespace detail {
// A fork keeps g_delay_ms: an option.
STREAMSAN_HOT_DATA constinit std::atomic<std::uint32_t> g_delay_ms{0};
}  // namespace detail

namespace {

/// Stream -> its number in the upper half, its operations so far in the lower half.
constinit HandleTable<std::uint64_t, 1u << 14> g_counts{};
constinit std::atomic<std::uint32_t> g_streams{0};
constinit std::atomic<std::uint64_t> g_operations{0};
constinit std::atomic<std::uint64_t> g_delayed{0};

// Keys of default streams in g_counts: no handle has such a value, and 0 and 1 are the table's own.
constexpr std::uint64_t kLegacyKey = 3;
constexpr std::uint64_t kPerThreadKey = 4;  // plus 8 for each thread

void CUDA_CB sleep_in_stream(void* milliseconds) {
  const auto ms = reinterpret_cast<std::uintptr_t>(milliseconds);
  timespec rest{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000) * 1'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR) {
  }
}

struct Place {
  std::uint32_t stream;
  std::uint32_t operation;
};

/// Numbers the operation. False: the stream has no number.
bool count_operation(StreamArgument stream, Place& place) {
  HandleTable<std::uint64_t, 1u << 14>::Entry* entry = nullptr;
  if (stream.handle > trace::kPerThreadStream) {
    entry = g_counts.find(stream.handle);
    if (!entry) return false;
    const std::uint64_t count = entry->value.fetch_add(1, std::memory_order_relaxed);
    place = {static_cast<std::uint32_t>(count >> 32), static_cast<std::uint32_t>(count)};
    return true;
  }
  const bool legacy = stream.handle == trace::kLegacyStream;
  const std::uint32_t thread = legacy ? 0 : thread_number();
  entry = g_counts.insert(legacy ? kLegacyKey : kPerThreadKey + std::uint64_t{8} * thread);
  if (!entry) return false;
  place = {legacy ? kLegacyNumber : kThreadNumbers + thread,
           static_cast<std::uint32_t>(entry->value.fetch_add(1, std::memory_order_relaxed))};
  return true;
}

}  // namespace

void start_perturbing() {
  detail::g_delay_ms.store(options().perturb, std::memory_order_relaxed);
  if (!perturbing()) return;
  driver_entry(api::Index::cuLaunchHostFunc);
  driver_entry(api::Index::cuStreamIsCapturing);
}

void number_stream(std::uint64_t handle) {
  auto* entry = g_counts.insert(handle);
  const std::uint64_t number = g_streams.fetch_add(1, std::memory_order_relaxed);
  if (entry) entry->value.store(number << 32, std::memory_order_relaxed);
}

void forget_number(std::uint64_t handle) { g_counts.erase(handle); }

void delay_operation(StreamArgument stream, bool may_delay) {
  Place place{};
  if (!stream.handle || !count_operation(stream, place)) return;
  g_operations.fetch_add(1, std::memory_order_relaxed);
  if (!may_delay || !is_delayed(options().perturb_seed, place.stream, place.operation) || is_being_captured(stream))
    return;
  auto submit = SS_DRIVER(cuLaunchHostFunc);
  const std::uintptr_t ms = detail::g_delay_ms.load(std::memory_order_relaxed);
  if (submit &&
      submit(reinterpret_cast<CUstream>(stream.handle), sleep_in_stream, reinterpret_cast<void*>(ms)) == CUDA_SUCCESS)
    g_delayed.fetch_add(1, std::memory_order_relaxed);
}

void say_delays() {
  if (!perturbing() || options().verbosity < 1) return;
  say("perturb: %llu of %llu operations were delayed by %u ms (perturb_seed=%u)",
      static_cast<unsigned long long>(g_delayed.load()), static_cast<unsigned long long>(g_operations.load()),
      detail::g_delay_ms.load(), options().perturb_seed);
}

void in_child::delays() {
  if (!perturbing()) return;
  g_counts.clear();
  g_streams.store(0);
  g_operations.store(0);
  g_delayed.store(0);
}

}  // namespace streamsan::recorder
