// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Is the GPU idle? Asked on the guest's own thread, which must never wait for the GPU without end: see "which thread"
// in agent.cpp.
#pragma once

#include <cuda.h>
#include <time.h>

#include <cstdint>

#include "interposer/clock.h"
#include "interposer/footprints/driver_calls.h"

namespace streamsan::footprints {

/// Most kernels that are measured end in less. Who sleeps instead wakes some 50 µs late.
inline constexpr std::uint64_t kAwake = 200'000;  // ns

/// As long as `ask` says CUDA_ERROR_NOT_READY: asks again, for a bounded time. Returns the last answer.
template <class Ask>
CUresult ask_until_ready(Ask ask, std::uint32_t patience_ms) {
  const std::uint64_t began = monotonic_ns();
  for (unsigned naps = 0;;) {
    const CUresult result = ask();
    if (result != CUDA_ERROR_NOT_READY) return result;
    const std::uint64_t waited = monotonic_ns() - began;
    if (waited > patience_ms * kNanosecondsPerMillisecond) return result;
    if (waited < kAwake) continue;
    const timespec nap{0, ++naps < 1000 ? 20'000 : 200'000};
    nanosleep(&nap, nullptr);
  }
}

/// The context is current to the calling thread.
class InContext {
 public:
  InContext(const DriverCalls& driver, CUcontext context) : driver_(driver) {
    CUcontext current = nullptr;
    is_current_ = driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context;
    pushed_ = !is_current_ && driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
  }
  ~InContext() {
    CUcontext popped = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent_v2(&popped);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  explicit operator bool() const { return is_current_ || pushed_; }

 private:
  const DriverCalls& driver_;
  bool is_current_ = false;
  bool pushed_ = false;
};

/// No other thread has a stream wait for what the program does later, or destroys one.
class WaitsHeld {
 public:
  explicit WaitsHeld(const StreamSanHost& host) : host_(host), held_(host.hold_waits() != 0) {}
  ~WaitsHeld() {
    if (held_) host_.release_waits();
  }
  WaitsHeld(const WaitsHeld&) = delete;
  WaitsHeld& operator=(const WaitsHeld&) = delete;
  explicit operator bool() const { return held_; }

 private:
  const StreamSanHost& host_;
  bool held_;
};

/// The streams of a context that may have work. False: they are not all known. Only while WaitsHeld.
class StreamsInUse {
 public:
  StreamsInUse(const StreamSanHost& host, const DriverCalls& driver, CUcontext context)
      : driver_(driver), count_(host.streams(context, handles_, kMost)) {}
  explicit operator bool() const { return count_ >= 0; }

  /// Does not wait; with the context current. CUDA_ERROR_NOT_READY: one has work that it had not ended whenever it was
  /// asked so far.
  CUresult ask() {
    for (; idle_ < count_; ++idle_) {
      if (const CUresult result = driver_.cuStreamQuery(static_cast<CUstream>(handles_[idle_]))) return result;
    }
    return CUDA_SUCCESS;
  }

 private:
  static constexpr unsigned kMost = 65;

  const DriverCalls& driver_;
  void* handles_[kMost];
  int count_;
  int idle_ = 0;  ///< so many of them have been seen idle
};

}  // namespace streamsan::footprints
