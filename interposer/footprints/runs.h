// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From marks to ranges: bits of sorted regions become runs of bytes, one list for each mode.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/footprints/agent.h"
#include "interposer/footprints/marks.h"

namespace streamsan::footprints {

/// Collects the runs of one measurement. Its memory is its own, kept from one measurement to the next.
class Runs {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 20;  ///< in all; beyond it full() answers true

  void clear();
  /// The marks of a region (kSlotWords words). Regions must come in ascending order.
  void add_region(std::uint64_t region, const std::uint32_t* words);
  /// Sorts what was added by its begin. The result is valid until the next clear().
  const StreamSanRange* finish(std::size_t& count);
  [[nodiscard]] bool full() const { return full_; }

 private:
  void add_bits(unsigned mode, std::uint64_t begin, std::uint32_t bits);
  void add_run(unsigned mode, std::uint64_t begin, std::uint64_t end);

  StreamSanRange* ranges_ = nullptr;  // kMost of them, reserved at once: untouched pages cost nothing
  std::size_t count_ = 0;
  std::size_t last_[kModes] = {};  // index + 1 of the mode's last run
  bool full_ = false;
};

}  // namespace streamsan::footprints
