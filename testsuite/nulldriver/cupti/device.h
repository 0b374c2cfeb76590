// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device that takes its time: what the null driver's kernels and copies would have taken on one. Every operation runs
// for the same time (STREAMSAN_NULL_GPU_US microseconds; 1000 without it), in a stream one after the other and at once
// where its stream is idle; streams do not wait for each other, also not for the legacy one. Whoever waits, waits for
// all of them.
//
// So what a program loses by waiting is known from its text. The clock is the host's, so numbers vary by how long the
// host takes; tests have operations of many milliseconds, and ask for a range.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace streamsan::nullcupti {

enum class Activity : std::uint32_t { None, Memcpy, Memset, Kernel, Graph };

struct Operation {
  Activity activity;
  std::uint32_t number;  ///< of the call that made it
  std::uint64_t start;   ///< nanoseconds, CLOCK_MONOTONIC
  std::uint64_t end;
};

class Device {
 public:
  Device();
  void submit(Activity activity, std::uint32_t number, const void* stream);
  /// Returns when all that was submitted until now is over.
  void wait();
  /// What is over at that time, in the order of its submission, and with `all` the rest as well; each once. Whoever
  /// asks tells the time: he looks at it again to see what is over.
  std::vector<Operation> take(std::uint64_t present, bool all);

  static std::uint64_t now();

 private:
  std::uint64_t duration_;  ///< of each operation, ns
  std::mutex mutex_;
  std::map<const void*, std::uint64_t> streams_;  ///< when each has run dry
  std::uint64_t last_ = 0;
  std::vector<Operation> unreported_;
};

}  // namespace streamsan::nullcupti
