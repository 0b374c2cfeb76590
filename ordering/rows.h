// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of bytes at regular distances, and whether two such patterns meet.
//
// A kernel on the interior of a matrix touches two thousand rows, one on a part of a volume some hundred thousand. But
// six numbers describe either pattern, and whether two patterns have a byte in common can be computed from those:
//   * rows and a run of bytes: the first row that ends behind the run's begin is the only one to look at;
//   * rows and rows of one pitch: they meet if the distance of their bases fits some difference of their row numbers;
//   * rows and rows of two pitches: the first row of one pattern is sought whose place, modulo the other pitch, falls
//     on a row of the other. An algorithm like Euclid's finds it.
// Only slices that can meet are compared, one by one; slices of one pitch are compared like rows of one pitch.
//
// The answer is exact: patterns "meet" if and only if they have common bytes. The caller limits the number of steps; if
// the limit is reached, the answer is "do not meet", and the budget is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ordering/types.h"

namespace streamsan::ordering {

/// Patterns with a byte past this are for nobody to compute with: no address space is that large.
inline constexpr Address kMostAddress = Address{1} << 62;

inline Bytes bytes_of(const Footprint& footprint) { return footprint.width * footprint.rows * footprint.slices; }

/// From the first byte to the last one, gaps included.
inline Range hull(const Footprint& bytes) {
  return {bytes.base,
          bytes.base + (bytes.slices - 1) * bytes.slice_pitch + (bytes.rows - 1) * bytes.pitch + bytes.width};
}

/// Are all its bytes in the range? Also of patterns that make no sense.
bool lies_in(Range range, const Footprint& bytes);

/// The same bytes in as few runs as their pitches allow: a dimension of one step, or one whose steps follow each other
/// without a gap, is no dimension. Rows are no further apart than slices.
Footprint simplified(Footprint f);

/// Rows of all slices are counted through.
inline Range row_of(const Footprint& f, std::uint64_t row) {
  const Address begin = f.base + row / f.rows * f.slice_pitch + row % f.rows * f.pitch;
  return {begin, begin + f.width};
}

/// A row of a first pattern and one of a second, which have bytes in common.
struct Meeting {
  Range first;
  Range second;
  Range common;
};

// The patterns are simplified, and end before kMostAddress.

/// Adds the parts of rows that lie in the range, by address in each slice, until `runs` has `most`.
void add_rows_in(const Footprint& bytes, Range range, std::vector<Range>& runs, std::size_t most);

/// Some row that has bytes in the range.
std::optional<Range> row_in(const Footprint& bytes, Range range);
std::optional<Meeting> meeting(const Footprint& first, const Footprint& second, std::uint64_t& budget);

}  // namespace streamsan::ordering
