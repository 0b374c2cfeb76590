// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "interposer/tests/pieces_fixture.h"

namespace streamsan::recorder::piece_tests {
namespace {

TEST(Pieces, NoneOfNothing) {
  const auto list = pieces_of({});
  EXPECT_EQ(list->count, 0u);
  EXPECT_FALSE(list->lost);
}

TEST(Pieces, ARunIsAPiece) {
  const auto list = pieces_of({{0x1000, 0x1400, W, 0}});
  ASSERT_EQ(list->count, 1u);
  expect_piece(list->pieces[0], Piece::Mode::Write, 0x1000, 0x400);
}

TEST(Pieces, EqualRunsAtEqualDistancesAreRows) {
  const auto list = pieces_of({{0x1000, 0x1010, R, 0}, {0x1100, 0x1110, R, 0}, {0x1200, 0x1210, R, 0}});
  ASSERT_EQ(list->count, 1u);
  expect_piece(list->pieces[0], Piece::Mode::Read, 0x1000, 0x10, 3, 0x100);
}

TEST(Pieces, OtherRunsAreNot) {
  EXPECT_EQ(pieces_of({{0x1000, 0x1010, R, 0}, {0x1100, 0x1110, R, 0}})->count, 2u) << "two are no pattern";
  EXPECT_EQ(pieces_of({{0x1000, 0x1010, R, 0}, {0x1100, 0x1110, R, 0}, {0x1200, 0x1211, R, 0}})->count, 3u);
  EXPECT_EQ(pieces_of({{0x1000, 0x1010, R, 0}, {0x1100, 0x1110, R, 0}, {0x1201, 0x1211, R, 0}})->count, 3u);
}

TEST(Pieces, RowsBeginAfterAnIrregularFront) {
  const auto list = pieces_of({{0x0fe0, 0x0ff0, R, 0},
                               {0x1000, 0x1010, R, 0},
                               {0x1100, 0x1110, R, 0},
                               {0x1200, 0x1210, R, 0},
                               {0x1300, 0x1308, R, 0}});
  ASSERT_EQ(list->count, 3u);
  expect_piece(list->pieces[0], Piece::Mode::Read, 0x0fe0, 0x10);
  expect_piece(list->pieces[1], Piece::Mode::Read, 0x1000, 0x10, 3, 0x100);
  expect_piece(list->pieces[2], Piece::Mode::Read, 0x1300, 0x8);
}

TEST(Pieces, EqualRowsAtEqualDistancesAreSlices) {
  Ranges ranges;
  for (std::uint64_t slice = 0; slice < 4; ++slice) {
    for (std::uint64_t row = 0; row < 5; ++row) {
      const std::uint64_t begin = 0x10000 + slice * 0x1000 + row * 0x40;
      ranges.push_back({begin, begin + 8, W, 0});
    }
  }
  auto list = pieces_of(ranges);
  ASSERT_EQ(list->count, 1u);
  expect_piece(list->pieces[0], Piece::Mode::Write, 0x10000, 8, 5, 0x40, 4, 0x1000);

  // The third slice at another distance begins a piece of its own, the fourth goes on with it.
  for (std::size_t i = 10; i < ranges.size(); ++i) {
    ranges[i].begin += 0x800;
    ranges[i].end += 0x800;
  }
  list = pieces_of(ranges);
  ASSERT_EQ(list->count, 2u);
  expect_piece(list->pieces[0], Piece::Mode::Write, 0x10000, 8, 5, 0x40, 2, 0x1000);
  expect_piece(list->pieces[1], Piece::Mode::Write, 0x12800, 8, 5, 0x40, 2, 0x1000);
}

TEST(Pieces, ModesDoNotDisturbEachOther) {
  Ranges ranges;
  for (std::uint64_t row = 0; row < 6; ++row) {
    const std::uint64_t at = 0x1000 + row * 0x100;
    ranges.push_back({at, at + 0x20, W, 0});
    ranges.push_back({at + 0x10, at + 0x18, A, 0});
    ranges.push_back({at + 0x40, at + 0x50, R | W, 0});
  }
  const auto list = pieces_of(ranges);
  // Writes of two widths take turns, so they are no rows; the others are.
  ASSERT_EQ(list->count, 14u);
  expect_piece(list->pieces[0], Piece::Mode::Read, 0x1040, 0x10, 6, 0x100);
  for (std::uint64_t i = 0; i < 12; ++i) {
    expect_piece(list->pieces[1 + i], Piece::Mode::Write, 0x1000 + i / 2 * 0x100 + i % 2 * 0x40, i % 2 ? 0x10 : 0x20);
  }
  expect_piece(list->pieces[13], Piece::Mode::Atomic, 0x1010, 8, 6, 0x100);
}

TEST(Pieces, RowsOfAnotherModeAreNoSlice) {
  Ranges ranges;
  for (std::uint64_t row = 0; row < 6; ++row) {
    ranges.push_back({0x1000 + row * 0x100, 0x1010 + row * 0x100, row < 3 ? R : W, 0});
  }
  const auto list = pieces_of(ranges);
  ASSERT_EQ(list->count, 2u);
  expect_piece(list->pieces[0], Piece::Mode::Read, 0x1000, 0x10, 3, 0x100);
  expect_piece(list->pieces[1], Piece::Mode::Write, 0x1300, 0x10, 3, 0x100);
}

TEST(Pieces, WhatIsWidenedCoversAllSlicesOfBoth) {
  // Sliced pieces whose slices differ in number, more of them than fit; each reaches to just before the next.
  Ranges ranges;
  std::uint64_t begin = 0x1000;
  for (std::size_t piece = 0; piece <= kMostPieces; ++piece) {
    for (std::uint64_t slice = 0; slice < 2 + piece % 2; ++slice) {
      for (std::uint64_t row = 0; row < 3; ++row) {
        const std::uint64_t at = begin + slice * 0x100 + row * 0x10;
        ranges.push_back({at, at + 1 + piece % 2, W, 0});
      }
    }
    begin += 0x1000;
  }
  const auto list = pieces_of(ranges);
  ASSERT_EQ(list->count, kMostPieces / 2 + 1);
  EXPECT_TRUE(is_widened(list->pieces[0]));
  EXPECT_EQ(base_of(list->pieces[0]), 0x1000u);
  EXPECT_EQ(base_of(list->pieces[0]) + list->pieces[0].width, 0x2000u + 2 * 0x100 + 2 * 0x10 + 2);
}

TEST(Pieces, AsManyAsFitStayExact) {
  const auto list = pieces_of(irregular(kMostPieces, R));
  EXPECT_EQ(list->count, kMostPieces);
  EXPECT_FALSE(list->lost);
  for (const Piece& piece : all(*list)) ASSERT_FALSE(is_widened(piece));
}

TEST(Pieces, OneMoreWidens) {
  const auto list = pieces_of(irregular(kMostPieces + 1, R));
  EXPECT_EQ(list->count, kMostPieces / 2 + 1);
  EXPECT_FALSE(list->lost);
  for (std::size_t i = 0; i < kMostPieces / 2; ++i) {
    EXPECT_TRUE(is_widened(list->pieces[i]));
    EXPECT_EQ(base_of(list->pieces[i]), 0x1000 + i * 32);
    EXPECT_EQ(list->pieces[i].width, 18u) << "both, and the gap";
  }
  EXPECT_FALSE(is_widened(list->pieces[kMostPieces / 2])) << "the last was not merged";
}

TEST(Pieces, HoweverManyThereAreNothingIsLost) {
  Ranges ranges = irregular(200'000, R | W | A);
  const auto list = pieces_of(ranges);
  EXPECT_FALSE(list->lost);
  EXPECT_LE(list->count, kMostPieces);
  std::uint64_t last[3] = {};
  std::uint64_t first[3] = {~0ull, ~0ull, ~0ull};
  for (const Piece& piece : all(*list)) {
    const auto mode = static_cast<unsigned>(piece.mode);
    first[mode] = std::min(first[mode], base_of(piece));
    for_each_run(piece, base_of(piece), [&](std::uint64_t at) { last[mode] = std::max(last[mode], at + piece.width); });
  }
  for (unsigned mode = 0; mode < 3; ++mode) {
    EXPECT_EQ(first[mode], ranges.front().begin);
    EXPECT_EQ(last[mode], ranges.back().end);
  }
}

TEST(Pieces, CoverWhatWasTouchedAndNoMore) {
  std::mt19937 random(2);
  int exact_rounds = 0;
  int widened_rounds = 0;
  for (int round = 0; round < 60; ++round) {
    const ByteSets touched = random_bytes(random, round % 3 ? random() % 600 : 1500 + random() % 4000);
    const auto list = pieces_of(ranges_of(touched, round % 2 == 0));
    ASSERT_LE(list->count, kMostPieces);
    ASSERT_FALSE(list->lost);
    const bool any_widened = covers(*list, kEverywhere, touched);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "round " << round;
    ++(any_widened ? widened_rounds : exact_rounds);
  }
  EXPECT_GT(exact_rounds, 10);
  EXPECT_GT(widened_rounds, 10);
}

TEST(Pieces, WithoutAPointerAreNoRows) {
  Ranges ranges;
  for (std::uint64_t row = 0; row < 12; ++row) {
    ranges.push_back({0x1000 + row * 0x100, 0x1010 + row * 0x100, W, 0});
  }
  // The first six are in an allocation that a pointer of the launch points into, the others may be in any.
  const auto list = pieces_of(ranges, {{0x1000, 0x1000, 0x1600}});
  ASSERT_EQ(list->count, 7u);
  expect_piece(list->pieces[0], Piece::Mode::Write, 0, 0x10, 6, 0x100);
  for (std::size_t i = 1; i < list->count; ++i) {
    EXPECT_EQ(list->pieces[i].pointer, Piece::kAbsolute);
    EXPECT_EQ(base_of(list->pieces[i], {}), 0x1500 + i * 0x100);
    EXPECT_EQ(list->pieces[i].width, 0x10u);
    EXPECT_EQ(list->pieces[i].rows, 1u);
  }
}

TEST(Pieces, WithoutAPointerAreLostIfTheyAreTooMany) {
  const auto fits = pieces_of(irregular(kMostPieces, W), {});
  EXPECT_EQ(fits->count, kMostPieces);
  EXPECT_FALSE(fits->lost);
  for (const Piece& piece : all(*fits)) ASSERT_TRUE(!is_widened(piece) && piece.pointer == Piece::kAbsolute);

  // Two neighbours may be of two allocations, so they are not merged. What is kept is true.
  const Ranges ranges = irregular(kMostPieces + 1, W);
  const auto list = pieces_of(ranges, {});
  EXPECT_TRUE(list->lost);
  ASSERT_EQ(list->count, kMostPieces);
  for (std::size_t i = 0; i < kMostPieces; ++i) {
    ASSERT_FALSE(is_widened(list->pieces[i]));
    ASSERT_EQ(base_of(list->pieces[i], {}), ranges[i].begin);
    ASSERT_EQ(list->pieces[i].width, ranges[i].end - ranges[i].begin);
  }
  EXPECT_FALSE(pieces_of(ranges)->lost) << "as many with a pointer are widened instead";

  // The same list is used again.
  make_pieces(ranges.data(), 1, nullptr, 0, *list);
  EXPECT_EQ(list->count, 1u);
  EXPECT_FALSE(list->lost);
}

TEST(Pieces, ThoseWithAPointerMakeRoomForThoseWithout) {
  // Reads with a pointer come first and fill the list; the writes without one then fit in what merging frees.
  Ranges ranges = irregular(kMostPieces, R);
  const std::uint64_t end = ranges.back().end;
  for (const StreamSanRange& range : irregular(kMostPieces / 2, W, 0x100000)) ranges.push_back(range);
  const auto list = pieces_of(ranges, {{0x1000, 0x1000, end}});
  EXPECT_FALSE(list->lost);
  std::size_t absolute = 0;
  for (const Piece& piece : all(*list)) {
    const bool without = piece.pointer == Piece::kAbsolute;
    absolute += without;
    EXPECT_EQ(piece.mode, without ? Piece::Mode::Write : Piece::Mode::Read);
    EXPECT_EQ(is_widened(piece), !without);
  }
  EXPECT_EQ(absolute, kMostPieces / 2);
}

TEST(PiecesHash, IsOfTheListAlone) {
  const Ranges ranges = {
      {0x1000, 0x1010, R, 0}, {0x1100, 0x1110, R, 0}, {0x1200, 0x1210, R, 0}, {0x1000, 0x1010, W, 0}};
  const auto dirty = pieces_of(ranges);
  const auto clean = std::make_unique<PieceList>();
  make_pieces(ranges.data(), ranges.size(), kEverywhere.data(), kEverywhere.size(), *clean);
  EXPECT_EQ(hash_of(all(*dirty)), hash_of(all(*clean)));
}

TEST(PiecesHash, EqualWhereverTheAllocationsAre) {
  std::set<std::uint64_t> hashes;
  for (const std::uint64_t base : {0x7f00'0000'0000ull, 0x7f12'3456'0000ull}) {
    const Ranges ranges = {{base, base + 64, R, 0}, {base + 256, base + 300, R | W, 0}};
    hashes.insert(hash_of(all(*pieces_of(ranges, {}))));
    hashes.insert(hash_of(all(*pieces_of(ranges, {{base + 16, base, base + 4096}}))));
  }
  EXPECT_EQ(hashes.size(), 3u) << "two absolute lists, and one relative";
}

TEST(PiecesHash, DependsOnEveryField) {
  const auto list = pieces_of(irregular(3, W));
  std::set<std::uint64_t> hashes = {hash_of(all(*list)), hash_of(all(*pieces_of({}))),
                                    hash_of(all(*pieces_of(irregular(2, W))))};
  std::size_t expected = 3;
  for (std::size_t i = 0; i < list->count; ++i) {
    for (int field = 0; field < 9; ++field) {
      auto changed = std::make_unique<PieceList>(*list);
      Piece& piece = changed->pieces[i];
      if (field == 0) piece.pointer = 1;
      if (field == 1) piece.mode = Piece::Mode::Atomic;
      if (field == 2) piece.flags = Piece::kWidened;
      if (field == 3) piece.offset += 1;
      if (field == 4) piece.width += 1;
      if (field == 5) piece.rows += 1;
      if (field == 6) piece.slices += 1;
      if (field == 7) piece.pitch += 1;
      if (field == 8) piece.slice_pitch += 1;
      hashes.insert(hash_of(all(*changed)));
      EXPECT_EQ(hashes.size(), ++expected) << "piece " << i << ", field " << field;
    }
  }
  std::swap(list->pieces[0], list->pieces[1]);
  hashes.insert(hash_of(all(*list)));
  EXPECT_EQ(hashes.size(), ++expected);
}

}  // namespace
}  // namespace streamsan::recorder::piece_tests
