// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/nulldriver/cupti/device.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace streamsan::nullcupti {

Device::Device() {
  const char* microseconds = std::getenv("STREAMSAN_NULL_GPU_US");
  duration_ = (microseconds ? std::strtoull(microseconds, nullptr, 10) : 1000) * 1000;
}

std::uint64_t Device::now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void Device::submit(Activity activity, std::uint32_t number, const void* stream) {
  const std::lock_guard lock(mutex_);
  std::uint64_t& dry = streams_[stream];
  const std::uint64_t start = std::max(dry, now());
  dry = start + duration_;
  last_ = std::max(last_, dry);
  unreported_.push_back({activity, number, start, dry});
}

void Device::wait() {
  std::uint64_t until = 0;
  {
    const std::lock_guard lock(mutex_);
    until = last_;
  }
  const timespec time{.tv_sec = static_cast<time_t>(until / 1'000'000'000),
                      .tv_nsec = static_cast<long>(until % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

std::vector<Operation> Device::take(std::uint64_t present, bool all) {
  const std::lock_guard lock(mutex_);
  std::vector<Operation> out;
  std::vector<Operation> rest;
  for (const Operation& operation : unreported_) (all || operation.end <= present ? out : rest).push_back(operation);
  unreported_ = std::move(rest);
  return out;
}

}  // namespace streamsan::nullcupti
