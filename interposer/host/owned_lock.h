// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A spin lock that knows its owner. What it guards is also used by a signal handler, which may have interrupted the
// owner itself: lock() then says so instead of waiting for itself. Held for some microseconds at most, and never across
// a call of the guest's or the driver's code.
//
// No thread waits for ever, because the guest may stop an owner: a garbage collector stops it by a signal and calls us
// before it resumes it, a signal handler jumps out, or a fork without fork handlers leaves the owner behind. A thread
// that has waited kPatience goes on without the lock, and a thread that meets the same owner after that does so at
// once.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "interposer/clock.h"
#include "interposer/process.h"

namespace streamsan::recorder {

class OwnedLock {
 public:
  static constexpr std::uint64_t kPatience = kNanosecondsPerSecond;

  /// False: this thread has it already, or the owner does not go on.
  bool lock() {
    if (mine()) return false;
    const void* owner = nullptr;
    const void* watched = nullptr;
    std::uint64_t deadline = 0;
    for (unsigned turn = 1; !owner_.compare_exchange_weak(owner, &t_thread, std::memory_order_acquire); ++turn) {
      if (owner && stuck_.load(std::memory_order_relaxed) == owner) return false;
      if (turn % 64 == 0) {
        sched_yield();
        const std::uint64_t now = monotonic_ns();
        if (!owner || owner != watched) {
          watched = owner;
          deadline = now + kPatience;
        } else if (now > deadline) {
          stuck_.store(owner, std::memory_order_relaxed);
          return false;
        }
      }
      owner = nullptr;
    }
    return true;
  }
  void unlock() {
    if (stuck_.load(std::memory_order_relaxed)) [[unlikely]]
      stuck_.store(nullptr, std::memory_order_relaxed);
    owner_.store(nullptr, std::memory_order_release);
  }
  [[nodiscard]] bool mine() const { return owner_.load(std::memory_order_relaxed) == &t_thread; }
  /// In the child of a fork, whose only thread may not be the one that had it.
  void forget() { unlock(); }

 private:
  std::atomic<const void*> owner_{nullptr};
  std::atomic<const void*> stuck_{nullptr};  // an owner that somebody has lost patience with
};

/// Has the lock until the end of the scope; false if lock() was.
class Holding {
 public:
  explicit Holding(OwnedLock& lock) : lock_(lock), holds_(lock.lock()) {}
  ~Holding() {
    if (holds_) lock_.unlock();
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  explicit operator bool() const { return holds_; }

 private:
  OwnedLock& lock_;
  bool holds_;
};

}  // namespace streamsan::recorder
