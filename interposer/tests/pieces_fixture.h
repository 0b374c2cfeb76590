// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of pieces for tests, and what they cover byte by byte.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "interposer/pieces.h"
#include "interposer/tests/byte_sets.h"

namespace streamsan::recorder::piece_tests {

using streamsan::testing::ByteSets;
using streamsan::testing::ranges_of;
using trace::Piece;
using Ranges = std::vector<StreamSanRange>;

inline constexpr std::uint32_t R = kStreamSanRead;
inline constexpr std::uint32_t W = kStreamSanWrite;
inline constexpr std::uint32_t A = kStreamSanAtomic;

using Pointers = std::vector<LaunchPointer>;

/// One buffer, so large that all ranges are in it. Offsets from it are addresses.
inline const Pointers kEverywhere = {{0, 0, ~0ull}};

/// Made over what another list left behind.
inline std::unique_ptr<PieceList> pieces_of(const Ranges& ranges, const Pointers& pointers = kEverywhere) {
  auto list = std::make_unique<PieceList>();
  std::memset(static_cast<void*>(list.get()), 0xa5, sizeof *list);
  make_pieces(ranges.data(), ranges.size(), pointers.data(), pointers.size(), *list);
  return list;
}

inline std::span<const Piece> all(const PieceList& list) { return {list.pieces, list.count}; }

inline bool is_widened(const Piece& piece) { return (piece.flags & Piece::kWidened) != 0; }

/// Calls with the begin of each run. Pieces of one row or slice say nothing by their pitches.
template <typename Visit>
inline void for_each_run(const Piece& piece, std::uint64_t base, Visit visit) {
  for (std::uint64_t slice = 0; slice < piece.slices; ++slice) {
    for (std::uint64_t row = 0; row < piece.rows; ++row) {
      visit(base + (slice ? slice * piece.slice_pitch : 0) + (row ? row * piece.pitch : 0));
    }
  }
}

/// Where an absolute piece, or one relative to these pointers, begins.
inline std::uint64_t base_of(const Piece& piece, const Pointers& pointers = kEverywhere) {
  const auto offset = static_cast<std::uint64_t>(piece.offset);
  return piece.pointer == Piece::kAbsolute ? offset : pointers.at(piece.pointer).address + offset;
}

inline void expect_piece(const Piece& piece, Piece::Mode mode, std::uint64_t base, std::uint64_t width,
                         std::uint32_t rows = 1, std::uint64_t pitch = 0, std::uint32_t slices = 1,
                         std::uint64_t slice_pitch = 0) {
  EXPECT_EQ(piece.pointer, 0) << "that of kEverywhere";
  EXPECT_EQ(piece.mode, mode);
  EXPECT_EQ(piece.flags, 0);
  EXPECT_EQ(base_of(piece), base);
  EXPECT_EQ(piece.width, width);
  EXPECT_EQ(piece.rows, rows);
  EXPECT_EQ(piece.slices, slices);
  EXPECT_TRUE(rows == 1 || piece.pitch == pitch) << piece.pitch;
  EXPECT_TRUE(slices == 1 || piece.slice_pitch == slice_pitch) << piece.slice_pitch;
}

/// `count` runs of which no two neighbours are equal.
inline Ranges irregular(std::size_t count, std::uint32_t modes, std::uint64_t base = 0x1000) {
  Ranges ranges;
  for (std::size_t i = 0; i < count; ++i) ranges.push_back({base + i * 16, base + i * 16 + 1 + i % 2, modes, 0});
  return ranges;
}

/// What kernels might touch: rows and slices here and there, and odd runs.
inline ByteSets random_bytes(std::mt19937& random, unsigned odd_runs) {
  ByteSets sets(0x7f00'0000'0000, 1 << 18);
  const auto up_to = [&](unsigned most) { return 1 + random() % most; };
  for (unsigned patterns = random() % 6; patterns > 0; --patterns) {
    const unsigned mode = random() % 3;
    const std::uint64_t begin = sets.base + random() % sets.size();
    const unsigned width = up_to(64), pitch = width + up_to(64), rows = up_to(20);
    const unsigned slice_pitch = pitch * rows + up_to(500), slices = up_to(12);
    for (unsigned slice = 0; slice < slices; ++slice) {
      for (unsigned row = 0; row < rows; ++row) {
        const std::uint64_t at = begin + slice * slice_pitch + row * pitch;
        sets.add(mode, at, at + width);
      }
    }
  }
  for (unsigned runs = odd_runs; runs > 0; --runs) {
    const std::uint64_t at = sets.base + random() % sets.size();
    sets.add(random() % 3, at, at + up_to(40));
  }
  return sets;
}

/// Adds what the pieces cover: exact ones to one side, widened ones to the other. No byte may be covered twice.
inline void expand(const PieceList& list, const Pointers& pointers, ByteSets& exact, ByteSets& widened) {
  for (const Piece& piece : all(list)) {
    ASSERT_GT(piece.width, 0u);
    ASSERT_GT(piece.rows, 0u);
    ASSERT_GT(piece.slices, 0u);
    const auto mode = static_cast<unsigned>(piece.mode);
    ASSERT_LT(mode, 3u);
    for_each_run(piece, base_of(piece, pointers), [&](std::uint64_t at) {
      ASSERT_GE(at, exact.base);
      ASSERT_LE(at + piece.width, exact.base + exact.size());
      for (std::uint64_t byte = at - exact.base; byte < at - exact.base + piece.width; ++byte) {
        ASSERT_FALSE(exact.bytes[mode][byte] || widened.bytes[mode][byte]) << "covered twice";
      }
      (is_widened(piece) ? widened : exact).add(mode, at, at + piece.width);
    });
  }
}

/// Every byte that was touched is covered, exact pieces cover no other, and widened ones begin and end with such bytes.
/// True: some pieces are widened.
inline bool covers(const PieceList& list, const Pointers& pointers, const ByteSets& touched) {
  ByteSets exact(touched.base, touched.size());
  ByteSets widened(touched.base, touched.size());
  expand(list, pointers, exact, widened);
  if (::testing::Test::HasFatalFailure()) return false;
  for (unsigned mode = 0; mode < 3; ++mode) {
    for (std::size_t byte = 0; byte < touched.size(); ++byte) {
      const bool in_exact = exact.bytes[mode][byte];
      const bool expected = touched.bytes[mode][byte];
      if (expected && !in_exact && !widened.bytes[mode][byte]) ADD_FAILURE() << "missed byte " << byte;
      if (!expected && in_exact) ADD_FAILURE() << "byte " << byte << " was not touched";
      if (::testing::Test::HasFailure()) return false;
    }
  }
  bool any_widened = false;
  for (const Piece& piece : all(list)) {
    if (!is_widened(piece)) continue;
    any_widened = true;
    const auto& bytes = touched.bytes[static_cast<unsigned>(piece.mode)];
    const std::uint64_t first = base_of(piece, pointers) - touched.base;
    EXPECT_TRUE(bytes[first] && bytes[first + piece.width - 1]) << "wider than it must be";
  }
  return any_widened;
}

}  // namespace streamsan::recorder::piece_tests
