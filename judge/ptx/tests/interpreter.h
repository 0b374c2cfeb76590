// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The naive specification of evaluate(): every thread, one instruction after the other, with numbers. What is read from
// memory is noise that depends on the address and on a seed, the same for all threads. Shares the parser with the
// judge, and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "judge/ptx/evaluate.h"

namespace streamsan::ptx {

inline std::set<std::uint64_t> bytes_of(const Piece& piece) {
  std::set<std::uint64_t> out;
  for (std::uint64_t slice = 0; slice < piece.slices; ++slice)
    for (std::uint64_t row = 0; row < piece.rows; ++row)
      for (std::uint64_t i = 0; i < piece.width; ++i)
        out.insert(piece.address + slice * piece.slice_pitch + row * piece.pitch + i);
  return out;
}

/// Every byte that was touched, by mode. Bytes, not ranges: launches in tests are small.
struct Trail {
  std::array<std::set<std::uint64_t>, 3> bytes;
};

/// Nothing: an instruction that is not known, or a thread that does not end.
std::optional<Trail> interpret(const Kernel& kernel, const Launch& launch, std::uint64_t seed);

}  // namespace streamsan::ptx
