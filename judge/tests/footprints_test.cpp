// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of footprints and the resolving of one: what a whole one gives, and that a damaged one gives less, never
// something else.
#include "judge/footprints.h"

#include <gtest/gtest.h>

#include "judge/testing/trace_builder.h"
#include "judge/tests/temporary_file.h"

namespace streamsan::judge {
namespace {

using ordering::AccessMode;
using trace::piece;
using trace::Piece;
using trace::pointer_word;
using trace::TraceBuilder;
constexpr Piece::Mode R = Piece::Mode::Read, W = Piece::Mode::Write, A = Piece::Mode::Atomic;

Footprints table_of(const TraceBuilder& trace) {
  TemporaryFile file(trace.bytes());
  std::string error;
  auto reader = trace::Reader::open(file.path(), {}, error);
  Footprints out;
  trace::Item item;
  while (reader->next(item) == trace::Step::Record) {
    if (item.record->kind == trace::Kind::Footprint) out.add(item);
  }
  EXPECT_EQ(reader->problem(), "");
  return out;
}

ResolvedFootprint resolved(const KernelFootprint& footprint, std::initializer_list<std::uint64_t> words) {
  ResolvedFootprint out;
  resolve(footprint, std::span(words.begin(), words.size()), true, out);
  return out;
}

TEST(Footprints, PiecesAreRelativeToThePointersOfTheLaunch) {
  TraceBuilder trace;
  Piece rows = piece(1, W, -64, 16);
  rows.rows = 3;
  rows.slices = 2;
  rows.pitch = 32;
  rows.slice_pitch = 1024;
  rows.flags = Piece::kWidened;
  trace.footprint(5, {piece(0, R, 16, 100), rows, piece(Piece::kAbsolute, A, 0x9000, 4)});
  const Footprints table = table_of(trace);
  ASSERT_TRUE(table.find(5));
  EXPECT_FALSE(table.find(6));
  const ResolvedFootprint at =
      resolved(*table.find(5), {pointer_word(0, 0x10000), pointer_word(9, 0x20000, /*in_structure=*/true)});
  EXPECT_TRUE(at.complete);
  ASSERT_EQ(at.bytes.size(), 3u);
  EXPECT_EQ(at.bytes[0].bytes.base, 0x10010u);
  EXPECT_EQ(at.bytes[0].bytes.width, 100u);
  EXPECT_EQ(at.bytes[0].mode, AccessMode::Read);
  EXPECT_FALSE(at.bytes[0].widened);
  EXPECT_EQ(at.bytes[1].bytes.base, 0x20000u - 64);
  EXPECT_EQ(at.bytes[1].bytes.rows, 3u);
  EXPECT_EQ(at.bytes[1].bytes.slices, 2u);
  EXPECT_EQ(at.bytes[1].bytes.pitch, 32u);
  EXPECT_EQ(at.bytes[1].bytes.slice_pitch, 1024u);
  EXPECT_EQ(at.bytes[1].mode, AccessMode::Write);
  EXPECT_TRUE(at.bytes[1].widened);
  EXPECT_EQ(at.bytes[2].bytes.base, 0x9000u);
  EXPECT_EQ(at.bytes[2].mode, AccessMode::Atomic);
}

TEST(Footprints, APromiseStandsBesideWhatIsKnown) {
  TraceBuilder trace;
  trace.footprint(1, {piece(0, R, 0, 8)});
  trace.footprint(2, {piece(1, W, 16, 32)});
  const Footprints table = table_of(trace);
  const std::uint64_t words[] = {pointer_word(0, 0x1000), pointer_word(1, 0x2000)};
  LaunchBytes launch;
  launch.known = Known::Learned;
  resolve(*table.find(1), words, false, launch.exact);
  add_promise(*table.find(2), words, launch);
  EXPECT_EQ(launch.known, Known::Learned);
  EXPECT_TRUE(launch.exact.complete);
  ASSERT_EQ(launch.exact.bytes.size(), 2u);
  EXPECT_FALSE(launch.exact.bytes[0].sure);
  EXPECT_TRUE(launch.exact.bytes[1].sure);
  EXPECT_EQ(launch.exact.bytes[1].bytes.base, 0x2010u);
  LaunchBytes alone;
  alone.exact.complete = false;
  add_promise(*table.find(2), words, alone);
  EXPECT_EQ(alone.known, Known::Computed);
  EXPECT_FALSE(alone.exact.complete) << "its pointers count beside it";
}

TEST(Footprints, SeveralRecordsAreOne) {
  TraceBuilder trace;
  const std::vector<Piece> many(2 * trace::kMostPiecesPerRecord + 1, piece(0, R, 0, 8));
  trace.footprint(1, many);
  const Footprints table = table_of(trace);
  ASSERT_TRUE(table.find(1));
  EXPECT_EQ(table.find(1)->pieces.size(), many.size());
  EXPECT_FALSE(table.find(1)->incomplete);
}

TEST(Footprints, ANewDefinitionReplaces) {
  TraceBuilder trace;
  trace.footprint(1, {piece(0, R, 0, 8), piece(0, W, 8, 8)}, trace::kIncomplete);
  trace.footprint(1, {piece(0, R, 0, 8)});
  const Footprints table = table_of(trace);
  EXPECT_EQ(table.find(1)->pieces.size(), 1u);
  EXPECT_FALSE(table.find(1)->incomplete);
}

TEST(Footprints, ADefinitionWithoutItsEndIsNotFound) {
  TraceBuilder trace;
  const Piece one[] = {piece(0, R, 0, 8)};
  trace.footprint(1, one, 0, /*open=*/true);
  EXPECT_FALSE(table_of(trace).find(1));
  trace.footprint(1, one);
  EXPECT_EQ(table_of(trace).find(1)->pieces.size(), 2u);
}

TEST(Footprints, TooManyPiecesMakeItIncomplete) {
  TraceBuilder trace;
  trace.footprint(1, std::vector<Piece>(Footprints::kMostPieces + 1, piece(0, R, 0, 8)));
  const Footprints table = table_of(trace);
  EXPECT_EQ(table.find(1)->pieces.size(), Footprints::kMostPieces);
  EXPECT_TRUE(table.find(1)->incomplete);
}

TEST(Footprints, TheTableIsBounded) {
  Footprints table;
  trace::Record record{};
  const std::vector<std::uint64_t> payload(trace::kMostPiecesPerRecord * trace::kPieceWords);
  record.kind = trace::Kind::Footprint;
  auto& w = record.as<trace::Kind::Footprint>();
  w.pieces = trace::kMostPiecesPerRecord;
  const std::uint64_t fit = Footprints::kMostPiecesInAll / trace::kMostPiecesPerRecord;
  for (w.id = 0; w.id < fit + 10; ++w.id) table.add({.record = &record, .payload = payload});
  EXPECT_TRUE(table.find(fit - 1));
  EXPECT_FALSE(table.find(fit + 5)) << "no room: the launch's pointers count";
  w.id = w.pieces = 0;
  table.add({.record = &record, .payload = payload});
  EXPECT_TRUE(table.find(0)->pieces.empty());
  w.id = fit + 5;
  w.pieces = 1;
  table.add({.record = &record, .payload = payload});
  EXPECT_TRUE(table.find(fit + 5)) << "what was replaced made room";
}

TEST(Footprints, APieceThatMakesNoSenseIsLeftOutAndThePointersCount) {
  const auto with = [](void (*damage)(Piece&)) {
    Piece bad = piece(0, R, 0, 8);
    damage(bad);
    return resolved({.pieces = {piece(0, W, 0, 8), bad}}, {pointer_word(0, 0x10000)});
  };
  EXPECT_TRUE(with([](Piece&) {}).complete);
  EXPECT_EQ(with([](Piece&) {}).bytes.size(), 2u);
  void (*const damages[])(Piece&) = {
      [](Piece& p) { p.pointer = 1; },
      [](Piece& p) { p.mode = static_cast<Piece::Mode>(3); },
      [](Piece& p) { p.width = 0; },
      [](Piece& p) { p.rows = 0; },
      [](Piece& p) { p.slices = 0; },
      [](Piece& p) { p.width = ~std::uint64_t{0}; },
      [](Piece& p) { p.offset = -0x20000; },
      [](Piece& p) { p.rows = 3, p.pitch = std::uint64_t{1} << 63; },
      [](Piece& p) { p.slices = 0xffffffff, p.slice_pitch = std::uint64_t{1} << 40; },
      [](Piece& p) { p.pointer = Piece::kAbsolute, p.offset = -1; },
      [](Piece& p) { p.pointer = Piece::kAbsolute; },
  };
  for (const auto& damage : damages) {
    EXPECT_FALSE(with(damage).complete) << &damage - damages;
    EXPECT_EQ(with(damage).bytes.size(), 1u) << "the other piece stands, damage " << &damage - damages;
  }
}

}  // namespace
}  // namespace streamsan::judge
