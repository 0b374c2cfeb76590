// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the two halves of a time meet: CUPTI numbers each call of the driver (the correlation number) and reports times
// under that number; the recorder reports which record the call became. Either may come first: a short kernel can be
// over before its launch has its record, but most times come long after.
//
// A table without chains: the number chooses the place, and a newer call takes the place of one that is kSize calls
// older. So memory is fixed, and the times of an operation that is still under way when as many others have been
// submitted are lost. An entry stays after both have met, because a call may have made several operations.
//
// What is lost: numbers have 32 bits; after four thousand million calls in one process an unclaimed time could meet a
// wrong record if the same place was not used in between, which cannot be.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/timings/agent.h"

namespace streamsan::timings {

class Meeting {
 public:
  static constexpr std::size_t kSize = std::size_t{1} << 18;

  /// The call with this number became the record. True: `out` is to be delivered, its times came first.
  bool call(std::uint32_t number, std::uint64_t position, StreamSanTime& out) {
    Entry& entry = lock(number);
    if (entry.number != number) renew(entry, number);
    entry.position = position;
    const bool waited = entry.end != 0;
    if (waited) {
      out = {position, entry.start, entry.end};
      entry.end = 0;
    }
    unlock(entry);
    return waited;
  }

  /// An operation of the call ran from start to end. True: `out` is to be delivered.
  bool time(std::uint32_t number, std::uint64_t start, std::uint64_t end, StreamSanTime& out) {
    Entry& entry = lock(number);
    if (entry.number != number) renew(entry, number);
    const bool known = entry.position != STREAMSAN_NO_RECORD;
    if (known) {
      out = {entry.position, start, end};
    } else {
      entry.start = entry.end && entry.start < start ? entry.start : start;
      entry.end = entry.end > end ? entry.end : end;
    }
    unlock(entry);
    return known;
  }

 private:
  struct Entry {
    std::atomic<std::uint32_t> locked;
    std::uint32_t number;  ///< 0: never used
    std::uint64_t position;
    std::uint64_t start;
    std::uint64_t end;  ///< 0: no time waits for its record
  };

  Entry& lock(std::uint32_t number) {
    Entry& entry = entries_[number % kSize];
    while (entry.locked.exchange(1, std::memory_order_acquire)) {
    }
    return entry;
  }
  static void unlock(Entry& entry) { entry.locked.store(0, std::memory_order_release); }
  static void renew(Entry& entry, std::uint32_t number) {
    entry.number = number;
    entry.position = STREAMSAN_NO_RECORD;
    entry.start = entry.end = 0;
  }

  Entry entries_[kSize];
};

}  // namespace streamsan::timings
