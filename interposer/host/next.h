// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The function that a wrapper of libc stands in front of: libc's own, or that of another preloaded library behind us.
#pragma once

#include <atomic>

#include "interposer/host/libc_call.h"

namespace streamsan::recorder {

/// Looked up at its first use. A look-up may itself call what is looked up (dlsym may free()); who wraps such a
/// function must not come here for it.
template <typename Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  Function* get() {
    Function* known = known_.load(std::memory_order_acquire);
    if (known) [[likely]]
      return known;
    known = reinterpret_cast<Function*>(find_next(name_));
    known_.store(known, std::memory_order_release);
    return known;
  }

 private:
  const char* name_;
  std::atomic<Function*> known_{nullptr};
};

}  // namespace streamsan::recorder
