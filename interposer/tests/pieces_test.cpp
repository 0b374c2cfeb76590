// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "interposer/tests/byte_sets.h"

namespace streamsan::recorder {
namespace {

using streamsan::testing::ByteSets;
using streamsan::testing::ranges_of;
using trace::Piece;
using Ranges = std::vector<StreamSanRange>;

constexpr std::uint32_t R = kStreamSanRead;
constexpr std::uint32_t W = kStreamSanWrite;
constexpr std::uint32_t A = kStreamSanAtomic;

using Pointers = std::vector<LaunchPointer>;

/// One buffer, so large that all ranges are in it. Offsets from it are addresses.
const Pointers kEverywhere = {{0, 0, ~0ull}};

/// Made over what another list left behind.
std::unique_ptr<PieceList> pieces_of(const Ranges& ranges, const Pointers& pointers = kEverywhere) {
  auto list = std::make_unique<PieceList>();
  std::memset(static_cast<void*>(list.get()), 0xa5, sizeof *list);
  make_pieces(ranges.data(), ranges.size(), pointers.data(), pointers.size(), *list);
  return list;
}

std::span<const Piece> all(const PieceList& list) { return {list.pieces, list.count}; }

bool is_widened(const Piece& piece) { return (piece.flags & Piece::kWidened) != 0; }

/// Calls with the begin of each run. Pieces of one row or slice say nothing by their pitches.
template <typename Visit>
void for_each_run(const Piece& piece, std::uint64_t base, Visit visit) {
  for (std::uint64_t slice = 0; slice < piece.slices; ++slice) {
    for (std::uint64_t row = 0; row < piece.rows; ++row) {
      visit(base + (slice ? slice * piece.slice_pitch : 0) + (row ? row * piece.pitch : 0));
    }
  }
}

/// Where an absolute piece, or one relative to these pointers, begins.
std::uint64_t base_of(const Piece& piece, const Pointers& pointers = kEverywhere) {
  const auto offset = static_cast<std::uint64_t>(piece.offset);
  return piece.pointer == Piece::kAbsolute ? offset : pointers.at(piece.pointer).address + offset;
}

void expect_piece(const Piece& piece, Piece::Mode mode, std::uint64_t base, std::uint64_t width, std::uint32_t rows = 1,
                  std::uint64_t pitch = 0, std::uint32_t slices = 1, std::uint64_t slice_pitch = 0) {
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
Ranges irregular(std::size_t count, std::uint32_t modes, std::uint64_t base = 0x1000) {
  Ranges ranges;
  for (std::size_t i = 0; i < count; ++i) ranges.push_back({base + i * 16, base + i * 16 + 1 + i % 2, modes, 0});
  return ranges;
}

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

/// What kernels might touch: rows and slices here and there, and odd runs.
ByteSets random_bytes(std::mt19937& random, unsigned odd_runs) {
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
void expand(const PieceList& list, const Pointers& pointers, ByteSets& exact, ByteSets& widened) {
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
bool covers(const PieceList& list, const Pointers& pointers, const ByteSets& touched) {
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

TEST(PiecesHash, IsOfTheListAlone) {
  const Ranges ranges = {
      {0x1000, 0x1010, R, 0}, {0x1100, 0x1110, R, 0}, {0x1200, 0x1210, R, 0}, {0x1000, 0x1010, W, 0}};
  const auto dirty = pieces_of(ranges);
  const auto clean = std::make_unique<PieceList>();
  make_pieces(ranges.data(), ranges.size(), kEverywhere.data(), kEverywhere.size(), *clean);
  EXPECT_EQ(hash_of(*dirty), hash_of(*clean));
}

TEST(PiecesHash, EqualWhereverTheAllocationsAre) {
  std::set<std::uint64_t> hashes;
  for (const std::uint64_t base : {0x7f00'0000'0000ull, 0x7f12'3456'0000ull}) {
    const Ranges ranges = {{base, base + 64, R, 0}, {base + 256, base + 300, R | W, 0}};
    hashes.insert(hash_of(*pieces_of(ranges, {})));
    hashes.insert(hash_of(*pieces_of(ranges, {{base + 16, base, base + 4096}})));
  }
  EXPECT_EQ(hashes.size(), 3u) << "two absolute lists, and one relative";
}

TEST(PiecesHash, DependsOnEveryField) {
  const auto list = pieces_of(irregular(3, W));
  std::set<std::uint64_t> hashes = {hash_of(*list), hash_of(*pieces_of({})), hash_of(*pieces_of(irregular(2, W)))};
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
      hashes.insert(hash_of(*changed));
      EXPECT_EQ(hashes.size(), ++expected) << "piece " << i << ", field " << field;
    }
  }
  std::swap(list->pieces[0], list->pieces[1]);
  hashes.insert(hash_of(*list));
  EXPECT_EQ(hashes.size(), ++expected);
}

}  // namespace
}  // namespace streamsan::recorder
