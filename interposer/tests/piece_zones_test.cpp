// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "interposer/tests/pieces_fixture.h"

namespace streamsan::recorder::piece_tests {
namespace {

TEST(PieceZones, BuffersAtEqualDistancesAreNoRows) {
  const Ranges ranges = {{0x1000, 0x1100, R, 0}, {0x2000, 0x2100, R, 0}, {0x3000, 0x3100, R, 0}};
  // Whether each is an allocation of its own or all are parts of one, and in whatever order they are given.
  const Pointers separate = {{0x3000, 0x3000, 0x3800}, {0x1000, 0x1000, 0x1800}, {0x2000, 0x2000, 0x2800}};
  const Pointers parts = {{0x3000, 0x1000, 0x4000}, {0x1000, 0x1000, 0x4000}, {0x2000, 0x1000, 0x4000}};
  for (const Pointers& pointers : {separate, parts}) {
    const auto list = pieces_of(ranges, pointers);
    ASSERT_EQ(list->count, 3u);
    const int expected[] = {1, 2, 0};
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(list->pieces[i].pointer, expected[i]);
      EXPECT_EQ(list->pieces[i].offset, 0);
      EXPECT_EQ(list->pieces[i].width, 0x100u);
      EXPECT_EQ(list->pieces[i].rows, 1u);
    }
  }
  // The twin: one buffer with three rows.
  const auto rows = pieces_of(ranges, {{0x1000, 0x1000, 0x4000}});
  ASSERT_EQ(rows->count, 1u);
  EXPECT_EQ(rows->pieces[0].rows, 3u);
}

TEST(PieceZones, MatricesOfOneArenaAreNoSlices) {
  Ranges ranges;
  for (std::uint64_t matrix = 0; matrix < 2; ++matrix) {
    for (std::uint64_t row = 0; row < 4; ++row) {
      const std::uint64_t at = 0x10000 + matrix * 0x1000 + row * 0x40;
      ranges.push_back({at, at + 8, W, 0});
    }
  }
  const auto list = pieces_of(ranges, {{0x10000, 0x10000, 0x20000}, {0x11000, 0x10000, 0x20000}});
  ASSERT_EQ(list->count, 2u);
  for (std::uint16_t i = 0; i < 2; ++i) {
    EXPECT_EQ(list->pieces[i].pointer, i);
    EXPECT_EQ(list->pieces[i].offset, 0);
    EXPECT_EQ(list->pieces[i].rows, 4u);
    EXPECT_EQ(list->pieces[i].slices, 1u);
  }
  EXPECT_EQ(pieces_of(ranges, {{0x10000, 0x10000, 0x20000}})->count, 1u) << "but those of one buffer are";
}

TEST(PieceZones, ARunThroughNeighbouringBuffersIsCut) {
  // Three buffers side by side in one allocation, and behind it another one: the agent sees one run.
  const Pointers pointers = {
      {0x1000, 0x1000, 0x4000}, {0x2000, 0x1000, 0x4000}, {0x3000, 0x1000, 0x4000}, {0x4000, 0x4000, 0x5000}};
  const auto list = pieces_of({{0x1000, 0x4800, W, 0}}, pointers);
  ASSERT_EQ(list->count, 4u);
  for (std::uint16_t i = 0; i < 4; ++i) {
    EXPECT_EQ(list->pieces[i].pointer, i);
    EXPECT_EQ(list->pieces[i].offset, 0);
    EXPECT_EQ(list->pieces[i].width, i == 3 ? 0x800u : 0x1000u);
    EXPECT_EQ(list->pieces[i].rows, 1u) << "equal and side by side, but three buffers";
  }
}

TEST(PieceZones, MergingStaysInside) {
  // More odd runs than fit, half of them in each of two buffers of one arena; an odd number, so that merging in pairs
  // would join the last of one with the first of the other.
  const Ranges ranges = irregular(2 * kMostPieces + 2, R);
  const std::uint64_t border = ranges[kMostPieces + 1].begin;
  const std::uint64_t end = ranges.back().end;
  const Pointers pointers = {{0x1000, 0x1000, end}, {border, 0x1000, end}};
  const auto list = pieces_of(ranges, pointers);
  EXPECT_FALSE(list->lost);
  bool of_both[2] = {};
  for (const Piece& piece : all(*list)) {
    ASSERT_LT(piece.pointer, 2);
    of_both[piece.pointer] = true;
    ASSERT_EQ(piece.rows, 1u);
    const std::uint64_t begin = base_of(piece, pointers);
    if (piece.pointer == 0) {
      ASSERT_LE(begin + piece.width, border);
    } else {
      ASSERT_GE(begin, border);
    }
  }
  EXPECT_TRUE(of_both[0] && of_both[1]);
}

/// The pointer that a piece at `begin` gets.
std::uint16_t chosen(const Pointers& pointers, std::uint64_t begin) {
  const auto list = pieces_of({{begin, begin + 1, R, 0}}, pointers);
  EXPECT_EQ(list->count, 1u);
  EXPECT_EQ(base_of(list->pieces[0], pointers), begin) << "it leads back";
  return list->pieces[0].pointer;
}

TEST(PieceZones, BelongToTheNearestPointerBelow) {
  const Pointers pointers = {
      {0x1000, 0x1000, 0x3000}, {0x2000, 0x1000, 0x3000}, {0x2800, 0x1000, 0x3000}, {0x2000, 0x1000, 0x3000}};
  EXPECT_EQ(chosen(pointers, 0x1000), 0);
  EXPECT_EQ(chosen(pointers, 0x1fff), 0) << "though one above is nearer";
  EXPECT_EQ(chosen(pointers, 0x2000), 1) << "the first of two equal ones";
  EXPECT_EQ(chosen(pointers, 0x27ff), 1);
  EXPECT_EQ(chosen(pointers, 0x2fff), 2);
}

TEST(PieceZones, ElseToTheNearestAbove) {
  const Pointers pointers = {{0x2800, 0x1000, 0x3000}, {0x2000, 0x1000, 0x3000}};
  EXPECT_EQ(chosen(pointers, 0x1000), 1);
  EXPECT_EQ(chosen({pointers[1], pointers[0]}, 0x1000), 0);
}

TEST(PieceZones, EndWithTheAllocation) {
  const Pointers pointers = {{0x1ff0, 0x1000, 0x2000}, {0x2f00, 0x2000, 0x3000}};
  EXPECT_EQ(chosen(pointers, 0x1fff), 0);
  EXPECT_EQ(chosen(pointers, 0x2000), 1) << "the other ends here";
  EXPECT_EQ(chosen(pointers, 0x3000), Piece::kAbsolute);
  EXPECT_EQ(chosen(pointers, 0x0fff), Piece::kAbsolute);
}

TEST(PieceZones, UnknownAllocationsServeNobody) {
  EXPECT_EQ(chosen({{0x1000, 0, 0}}, 0x1000), Piece::kAbsolute);
  EXPECT_EQ(chosen({}, 0x1000), Piece::kAbsolute);
}

/// Below before above, then near before far; less is better.
std::uint64_t rank(const LaunchPointer& pointer, std::uint64_t address) {
  if (address < pointer.begin || address >= pointer.end) return ~0ull;
  return pointer.address <= address ? address - pointer.address : (1ull << 60) + pointer.address - address;
}

/// Allocations side by side and with gaps between them, some unknown, with some pointers each.
Pointers random_pointers(std::mt19937& random, const ByteSets& window) {
  Pointers pointers;
  for (std::uint64_t begin = 0; begin < window.size();) {
    const std::uint64_t bytes = 1 + random() % (window.size() / 3);
    for (unsigned left = random() % 5; left > 0; --left) {
      const std::uint64_t from = window.base + begin;
      pointers.push_back({from + random() % bytes, from, from + bytes});
      if (random() % 8 == 0) pointers.back().begin = pointers.back().end = 0;
    }
    begin += bytes + (random() % 2 ? 0 : random() % 2000);
  }
  std::shuffle(pointers.begin(), pointers.end(), random);
  return pointers;
}

TEST(PieceZones, PiecesLeadBackToTheSameBytesAndStayInside) {
  std::mt19937 random(3);
  int widened_rounds = 0;
  int cut = 0;
  int absolute = 0;
  for (int round = 0; round < 80; ++round) {
    const ByteSets touched = random_bytes(random, round % 4 ? random() % 300 : 2500 + random() % 3000);
    const Pointers pointers = random_pointers(random, touched);
    const Ranges ranges = ranges_of(touched, round % 2 == 0);
    const auto list = pieces_of(ranges, pointers);
    ASSERT_LE(list->count, kMostPieces);
    if (list->lost) continue;  // too much without a pointer, see above
    widened_rounds += covers(*list, pointers, touched);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round;
    for (const Piece& piece : all(*list)) {
      // All of it belongs to its pointer: no other would have been better for any byte, those between the rows
      // included.
      const std::uint64_t begin = base_of(piece, pointers);
      std::uint64_t last = begin;
      for_each_run(piece, begin, [&](std::uint64_t at) { last = at + piece.width - 1; });
      if (piece.pointer == Piece::kAbsolute) {
        ASSERT_TRUE(piece.rows == 1 && piece.slices == 1 && !is_widened(piece));
        ++absolute;
      }
      for (std::uint64_t byte = begin; byte <= last; ++byte) {
        std::uint64_t best = ~0ull;
        for (const LaunchPointer& pointer : pointers) best = std::min(best, rank(pointer, byte));
        const std::uint64_t own = piece.pointer == Piece::kAbsolute ? ~0ull : rank(pointers[piece.pointer], byte);
        ASSERT_EQ(own, best) << "round " << round << ": byte " << byte - touched.base << " is not the pointer's";
      }
      cut += std::any_of(pointers.begin(), pointers.end(),
                         [&](const LaunchPointer& pointer) { return pointer.address == last + 1; });
    }
  }
  EXPECT_GT(widened_rounds, 5);
  EXPECT_GT(absolute, 100);
  EXPECT_GT(cut, 5) << "pieces that end where another buffer begins";
}

}  // namespace
}  // namespace streamsan::recorder::piece_tests
