// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A set of bytes as a short list of regular pieces.
//
// What a box of threads touches through one affine address is a run of bytes repeated along each dimension. Most
// repetitions close up (threads of a block side by side, blocks side by side); what is left has at most a pitch and a
// slice pitch in practice, and further dimensions are written out. Boxes were cut at guards, so pieces that belong
// together arrive apart; compact() puts them together again. Every step keeps the set as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "judge/ptx/affine.h"

namespace streamsan::ptx {

/// `slices` times `rows` runs of `width` bytes, the rows `pitch` apart, the slices `slice_pitch`; pitches are 0 where
/// there is one row or slice.
struct Piece {
  std::uint64_t address = 0;
  std::uint64_t width = 0;
  std::uint64_t rows = 1;
  std::uint64_t pitch = 0;
  std::uint64_t slices = 1;
  std::uint64_t slice_pitch = 0;
  bool operator==(const Piece&) const = default;
};

class ByteSet {
 public:
  /// Adds `width` bytes at each address that `address` has in the box. False: too irregular, or no 64-bit address.
  bool add(const Affine& address, std::uint64_t width, const Box& box);
  /// Makes the list as short as it easily gets. False: it is longer than `most`.
  bool compact(std::size_t most);
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  void join_neighbours();
  void stack();
  /// Takes out what lies in a single run of bytes: the halo that a tile reads of its neighbours, beside all tiles.
  void drop_what_runs_hold();

  std::vector<Piece> pieces_;
  std::size_t compact_at_ = 1024;  ///< so that long loops do not collect millions
};

}  // namespace streamsan::ptx
