// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which allocations an operation touches, coarsely: enough to say of two pieces of work that they share no memory.
//
// A kernel touches what its known bytes or its pointers lie in. What a graph, a host function or a kernel without
// pointers touches is not known, nor what hides behind a pointer in memory. Read and written memory count alike.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/hints.h"

namespace streamsan::judge {

struct TouchedMemory {
  static constexpr std::size_t kMost = 64;
  std::vector<std::uint64_t> keys;  ///< allocations by number; host memory without a life by its address
  bool unknown = false;             ///< perhaps more

  void add(std::uint64_t key);
  void add(const TouchedMemory& other);
  /// Surely share nothing.
  [[nodiscard]] bool apart(const TouchedMemory& other) const;
};

/// The memory that is touched by a record that made an operation.
TouchedMemory touched_by(const Seen& seen);

}  // namespace streamsan::judge
