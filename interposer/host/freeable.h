// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers without a lock, for every free() of the guest: may this memory be lent?
//
// A compiler inside of the guest frees millions of blocks, and one copy from pageable memory that nobody has waited for
// makes each of them a question. So the answer is a few instructions in the place where it is asked: the bounds of
// all such loans, and between them a hashed bit for each 64 KiB. (With a loan on the heap and one on a stack, all
// memory lies between the bounds.)
//
// Who adds and clears holds the lock of the loans (loan_table.h); a question at the same moment may get either answer.
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
    if (is_above(begin) || end <= begin_.load(std::memory_order_relaxed)) return false;
    return parts_.may_hold(begin, end);
  }
  /// Does all of it end at or below this address? So it does if there is nothing.
  [[nodiscard]] bool is_above(std::uint64_t begin) const { return begin >= end_.load(std::memory_order_relaxed); }
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin < begin_.load(std::memory_order_relaxed)) begin_.store(begin, std::memory_order_relaxed);
    if (end > end_.load(std::memory_order_relaxed)) end_.store(end, std::memory_order_relaxed);
    parts_.add(begin, end);
  }
  void clear() {
    begin_.store(~std::uint64_t{0}, std::memory_order_relaxed);
    end_.store(0, std::memory_order_relaxed);
    parts_.clear();
  }

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

/// The same for a block whose size is not known yet, as that takes time.
inline bool may_be_freeable(const void* begin) {
  return !detail::g_freeable.is_above(reinterpret_cast<std::uint64_t>(begin));
}

}  // namespace streamsan::recorder
