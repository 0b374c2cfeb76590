// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table by the names of kernels, of fixed size and without locks: modules are noted and launches are looked up on any
// thread, and nothing in the guest may wait or allocate for it. Rows are never removed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/footprints/cubin_image.h"

namespace streamsan::footprints {

/// Of at most kRows / 2 names. All zero is an empty table, so one that is static needs no constructor.
template <std::size_t kRows>
class KernelNames {
 public:
  using Value = std::atomic<std::uint64_t>;

  /// No further name finds room.
  bool is_full() const { return count_.load(std::memory_order_relaxed) > kRows / 2; }

  /// What stands at `kernel`; 0 in a new row. Null: the table is full.
  Value* find_or_add(const char* kernel) {
    const std::uint64_t name = hash_of_name(kernel);
    for (std::size_t at = name % kRows;; at = (at + 1) % kRows) {
      Row& row = rows_[at];
      std::uint64_t found = row.name.load(std::memory_order_acquire);
      if (found == 0) {
        if (is_full()) return nullptr;
        if (row.name.compare_exchange_strong(found, name)) {
          count_.fetch_add(1, std::memory_order_relaxed);
          return &row.value;
        }
      }
      if (found == name) return &row.value;
    }
  }

  /// Null: `kernel` was never added.
  const Value* find(const char* kernel) const {
    const std::uint64_t name = hash_of_name(kernel);
    for (std::size_t at = name % kRows;; at = (at + 1) % kRows) {
      const std::uint64_t found = rows_[at].name.load(std::memory_order_acquire);
      if (found == name) return &rows_[at].value;
      if (found == 0) return nullptr;
    }
  }

 private:
  struct Row {
    std::atomic<std::uint64_t> name{0};  // its hash
    Value value{0};
  };
  Row rows_[kRows];
  std::atomic<std::size_t> count_{0};
};

}  // namespace streamsan::footprints
