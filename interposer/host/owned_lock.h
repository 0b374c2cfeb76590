// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A spin lock that knows its owner. What it guards is also used by a signal handler, which may have interrupted the
// owner itself: that thread is told so instead of waiting for itself. Held for some microseconds at most, and never
// across a call of the guest's or the driver's code.
#pragma once

#include <sched.h>

#include <atomic>

#include "interposer/process.h"

namespace streamsan::recorder {

class OwnedLock {
 public:
  /// False: this thread has it already.
  bool lock() {
    if (mine()) return false;
    const void* nobody = nullptr;
    for (unsigned turn = 1; !owner_.compare_exchange_weak(nobody, &t_thread, std::memory_order_acquire); ++turn) {
      nobody = nullptr;
      if (turn % 64 == 0) sched_yield();
    }
    return true;
  }
  void unlock() { owner_.store(nullptr, std::memory_order_release); }
  [[nodiscard]] bool mine() const { return owner_.load(std::memory_order_relaxed) == &t_thread; }
  /// In the child of a fork, whose only thread may not be the one that had it.
  void forget() { unlock(); }

 private:
  std::atomic<const void*> owner_{nullptr};
};

/// Has the lock until the end of the scope; false if the thread had it before.
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
