// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers without a lock, for every free(), write() and touch of the guest: is this address surely not lent?
//
// One bit for each 2^kShift bytes of the address space, by hash: a bit that is not set says that nothing was added
// there. All accesses are relaxed: who adds a range holds the lock of the table that it belongs to, and a question at
// the same moment may get either answer. A range of more than kMostParts parts counts as the whole address space.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/handle_table.h"

namespace streamsan::recorder {

template <unsigned kShift, std::uint64_t kBits, std::uint64_t kMostParts = ~std::uint64_t{0}>
class AddressFilter {
 public:
  [[nodiscard]] bool may_hold(std::uint64_t address) const { return holds(address >> kShift); }
  /// Any of the bytes. The range is not empty.
  [[nodiscard]] bool may_hold(std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t last = (end - 1) >> kShift;
    if (last - (begin >> kShift) > kMostParts) return true;
    for (std::uint64_t part = begin >> kShift; part <= last; ++part) {
      if (holds(part)) return true;
    }
    return false;
  }

  void add(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t last = (end - 1) >> kShift;
    if (last - (begin >> kShift) > kMostParts) return set_all();
    for (std::uint64_t part = begin >> kShift; part <= last; ++part) {
      const std::uint64_t bit = bit_of(part);
      words_[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_relaxed);
    }
  }
  /// What is in both is there all the time.
  void replace_by(const AddressFilter& other) {
    for (std::uint64_t i = 0; i < kBits / 64; ++i)
      words_[i].store(other.words_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

 private:
  static std::uint64_t bit_of(std::uint64_t part) { return mix_bits(part) % kBits; }
  [[nodiscard]] bool holds(std::uint64_t part) const {
    const std::uint64_t bit = bit_of(part);
    return words_[bit / 64].load(std::memory_order_relaxed) >> (bit % 64) & 1;
  }
  void set_all() {
    for (auto& each : words_) each.store(~std::uint64_t{0}, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> words_[kBits / 64] = {};
};

}  // namespace streamsan::recorder
