// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets of bytes stay what they are while their lists get short.
#include "judge/ptx/byte_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace streamsan::ptx {
namespace {

/// Adds `width` bytes at base, at each step of two dimensions.
bool add(ByteSet& set, std::uint64_t base, std::uint64_t width, std::int64_t columns, std::int64_t column_pitch,
         std::int64_t rows, std::int64_t row_pitch) {
  Affine address{.constant = static_cast<Wide>(base)};
  Box box;
  address.factor[0] = column_pitch;
  address.factor[1] = row_pitch;
  box.high[0] = columns - 1;
  box.high[1] = rows - 1;
  return set.add(address, width, box);
}

constexpr std::uint64_t kA = 0x7f0000000000;

TEST(ByteSet, WhatTilesReadOfTheirNeighboursIsReadAnyhow) {
  // Tiles of 16 by 16 words of a matrix of side 2,048, and the column on the left of each.
  ByteSet set;
  ASSERT_TRUE(add(set, kA, 4, 2048, 4, 2048, 8192));
  ASSERT_TRUE(add(set, kA + 60, 4, 127, 64, 2048, 8192));
  ASSERT_TRUE(set.compact(64));
  EXPECT_EQ(set.pieces(), std::vector<Piece>({{.address = kA, .width = 16 << 20}}));
}

TEST(ByteSet, WhatIsNotHeldWhollyStays) {
  ByteSet set;
  ASSERT_TRUE(add(set, kA, 4, 1024, 4, 1, 0));
  ASSERT_TRUE(add(set, kA + 60, 4, 64, 64, 1, 0));
  ASSERT_TRUE(set.compact(64));
  EXPECT_EQ(set.pieces().size(), 1u) << "the last of them ends with the run";
  ASSERT_TRUE(add(set, kA + 60, 4, 65, 64, 1, 0));
  ASSERT_TRUE(set.compact(64));
  EXPECT_EQ(set.pieces().size(), 2u);
}

TEST(ByteSet, AnySetStaysTheSame) {
  std::mt19937_64 random(1);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int i = 0; i < 3'000; ++i) {
    ByteSet set;
    std::set<std::uint64_t> naive;
    for (std::uint64_t parts = 1 + below(6); parts > 0; --parts) {
      const std::uint64_t base = 1000 + below(300), width = 1 + below(40);
      const std::int64_t columns = static_cast<std::int64_t>(1 + below(8)),
                         pitch = static_cast<std::int64_t>(below(20));
      const std::int64_t rows = static_cast<std::int64_t>(1 + below(5)),
                         row_pitch = static_cast<std::int64_t>(below(64));
      ASSERT_TRUE(add(set, base, width, columns, pitch, rows, row_pitch));
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < columns; ++column) {
          for (std::uint64_t byte = 0; byte < width; ++byte) {
            naive.insert(base + static_cast<std::uint64_t>(row * row_pitch + column * pitch) + byte);
          }
        }
      }
    }
    ASSERT_TRUE(set.compact(64));
    std::set<std::uint64_t> held;
    for (const Piece& piece : set.pieces()) {
      for (std::uint64_t slice = 0; slice < piece.slices; ++slice) {
        for (std::uint64_t row = 0; row < piece.rows; ++row) {
          for (std::uint64_t byte = 0; byte < piece.width; ++byte) {
            held.insert(piece.address + slice * piece.slice_pitch + row * piece.pitch + byte);
          }
        }
      }
    }
    ASSERT_EQ(held, naive) << i;
  }
}

}  // namespace
}  // namespace streamsan::ptx
