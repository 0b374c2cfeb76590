// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers without a lock, for every free() of the guest: may this memory be lent?
//
// A compiler inside of the guest frees millions of blocks, and one copy from pageable memory that nobody has waited for
// makes each of them a question. So the answer is a few instructions in the place where it is asked: the bounds of
// all such loans, and between them a hashed bit for each 64 KiB. (With a loan on the heap and one on a stack, all
// memory lies between the bounds.)
//
// Who adds and replaces holds the lock of the loans (loan_table.h). A loan that is added is seen by a question that
// comes after it; one that stays is never absent, whatever else goes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/host/address_filter.h"

namespace streamsan::recorder {

namespace detail {

class Freeable {
 public:
  [[nodiscard]] bool may_hold(std::uint64_t begin, std::uint64_t end) const {
    if (ends_before(begin) || end <= begin_.load(std::memory_order_relaxed)) return false;
    return parts_.may_hold(begin, end);
  }
  /// All of it is below this address, or there is nothing.
  [[nodiscard]] bool ends_before(std::uint64_t address) const {
    return address >= end_.load(std::memory_order_relaxed);
  }
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin < begin_.load(std::memory_order_relaxed)) begin_.store(begin, std::memory_order_relaxed);
    if (end > end_.load(std::memory_order_relaxed)) end_.store(end, std::memory_order_relaxed);
    parts_.add(begin, end);
  }
  /// From now on, what is in `other`, and nothing else. What is in both is there all the time.
  void replace_by(const Freeable& other) {
    begin_.store(other.begin_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    end_.store(other.end_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    parts_.replace_by(other.parts_);
  }
  void clear() { replace_by(Freeable{}); }

 private:
  std::atomic<std::uint64_t> begin_{~std::uint64_t{0}};
  std::atomic<std::uint64_t> end_{0};
  AddressFilter<16, 4096, 256> parts_;
};

extern constinit Freeable g_freeable;

}  // namespace detail

/// False: no loan of pageable or registered memory has any of these bytes. The range is not empty.
inline bool may_be_freeable(const void* begin, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  return detail::g_freeable.may_hold(address, address + bytes);
}

/// The same of a block whose size is not known yet, as that takes time to find out. True also of most other blocks.
inline bool may_reach_freeable(const void* begin) {
  return !detail::g_freeable.ends_before(reinterpret_cast<std::uint64_t>(begin));
}

}  // namespace streamsan::recorder
