// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose bytes are known: measured ones convict, learned and widened ones do not, disjoint ones are silent, and
// atomics race with everything but each other.
#include <algorithm>
#include <chrono>

#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class KnownBytes : public ModelTest {
 protected:
  static KernelBytes piece(AccessMode mode, Address base, Bytes width = kAccess) {
    return {.bytes = bytes(base, width), .mode = mode};
  }
  OpId measured(StreamId stream, std::vector<KernelBytes> pieces, std::vector<PointerArgument> pointers = {}) {
    return model.launch(call(), stream, {.function = FunctionId{1}, .threads = 64}, pointers, pieces);
  }
  OpId learned(StreamId stream, std::vector<KernelBytes> pieces) {
    return model.launch(call(), stream, {.function = FunctionId{1}, .threads = 64, .learned = true}, {}, pieces);
  }
  bool one_possible() {
    const std::vector<Hazard> hazards = found();
    return hazards.size() == 1 && hazards[0].certainty == Certainty::Possible;
  }

  static constexpr AccessMode R = AccessMode::Read, W = AccessMode::Write, A = AccessMode::Atomic;
  const Address a = memory();
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
};

TEST_F(KnownBytes, TwoHalvesOfOneBufferAreSilent) {
  measured(s, {piece(W, a)});
  measured(t, {piece(W, a + kAccess)});
  EXPECT_TRUE(silent());
  measured(t, {piece(W, a + kAccess - 1)});
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite)) << "one byte in common is an error";
}

TEST_F(KnownBytes, WhatOverlapsStandsInTheHazard) {
  measured(s, {piece(W, a + 100, 300)});
  measured(t, {piece(R, a + 350, 300)});
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].overlap, (Range{a + 350, a + 400}));
  EXPECT_TRUE(hazards[0].earlier.exact);
  EXPECT_EQ(hazards[0].earlier.source, AccessSource::Kernel);
}

TEST_F(KnownBytes, ACopyBesideAMeasuredKernel) {
  measured(s, {piece(R, a)});
  write(t, a + kAccess);
  EXPECT_TRUE(silent());
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterRead));
}

TEST_F(KnownBytes, AnEdgeOrdersThem) {
  measured(s, {piece(W, a)});
  edge(s, t);
  measured(t, {piece(W, a)});
  EXPECT_TRUE(silent());
}

TEST_F(KnownBytes, LearnedBytesNeverConvict) {
  learned(s, {piece(W, a)});
  learned(t, {piece(W, a + kAccess)});
  EXPECT_TRUE(silent()) << "disjoint";
  write(t, a);
  EXPECT_TRUE(one_possible());
}

TEST_F(KnownBytes, SureBytesConvictBesideLearnedOnes) {
  KernelBytes sure = piece(W, a);
  sure.sure = true;
  learned(s, {piece(R, a + kAccess), sure, piece(R, a + 2 * kAccess)});
  write(t, a + kAccess);
  EXPECT_TRUE(one_possible());
  write(non_blocking(), a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(KnownBytes, SureBytesBesideLearnedOnesAreOrderedLikeThem) {
  KernelBytes sure = piece(W, a);
  sure.sure = true;
  learned(s, {piece(R, a + kAccess), sure});
  write(s, a);
  edge(s, t);
  write(t, a);
  write(t, a + kAccess);
  EXPECT_TRUE(silent());
}

TEST_F(KnownBytes, AKernelThatWaitsForWordsIsNotConvicted) {
  const LaunchShape waits{.function = FunctionId{1}, .threads = 64, .signalled = true};
  const auto waiting = [&](StreamId stream, const KernelBytes& known) {
    model.launch(call(), stream, waits, {}, {&known, 1});
  };
  waiting(s, piece(W, a));
  measured(t, {piece(W, a)});
  EXPECT_TRUE(one_possible());
  waiting(t, piece(R, a + kAccess));
  waiting(s, piece(R, a + kAccess));
  EXPECT_TRUE(silent()) << "both read";
  measured(t, {piece(W, a + 2 * kAccess)});
  edge(t, s);
  waiting(s, piece(W, a + 2 * kAccess));
  measured(non_blocking(), {piece(R, a + 2 * kAccess)});
  const std::vector<Hazard> hazards = found();
  EXPECT_TRUE(std::ranges::any_of(hazards, [](const Hazard& hazard) {
    return hazard.certainty == Certainty::Certain && !hazard.earlier.signalled;
  })) << "the write before it is not hidden by it";
}

TEST_F(KnownBytes, AKernelThatWaitsForWordsUsesFreedMemory) {
  const LaunchShape waits{.function = FunctionId{1}, .threads = 64, .signalled = true};
  const KernelBytes known = piece(R, a);
  model.free_async(call(), s, a);
  model.launch(call(), s, waits, {}, {&known, 1});
  EXPECT_TRUE(one(HazardKind::UseAfterFree)) << "no word that it waits for brings the memory back";
}

TEST_F(KnownBytes, ButForTheLifeOfTheAllocation) {
  learned(s, {piece(W, a)});
  model.free_async(call(), t, a);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse)) << "the last launch before a free is never measured later";
  const Address b = memory();
  learned(s, {piece(W, b)});
  edge(s, t);
  model.free_async(call(), t, b);
  EXPECT_TRUE(silent());
}

TEST_F(KnownBytes, AWidenedAccessDoesNotHideALearnedOne) {
  learned(s, {piece(W, a)});
  KernelBytes wide = piece(W, a);
  wide.widened = true;
  measured(s, {wide});
  model.free_async(call(), t, a);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
}

TEST_F(KnownBytes, WidenedBytesNeverConvict) {
  KernelBytes wide = piece(W, a);
  wide.widened = true;
  measured(s, {wide});
  measured(t, {piece(W, a + kAccess)});
  EXPECT_TRUE(silent()) << "disjoint";
  measured(t, {piece(W, a)});
  EXPECT_TRUE(one_possible());
}

TEST_F(KnownBytes, HearsayDoesNotHideWhatIsSure) {
  measured(s, {piece(W, a)});
  learned(s, {piece(W, a)});
  measured(t, {piece(R, a)});
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(KnownBytes, AtomicsDoNotRaceWithEachOther) {
  measured(s, {piece(A, a)});
  measured(t, {piece(A, a)});
  EXPECT_TRUE(silent());
  const StreamId u = non_blocking();
  measured(u, {piece(R, a)});
  EXPECT_EQ(found().size(), 2u) << "a read races with both";
}

TEST_F(KnownBytes, AtomicsRaceWithReadsAndWritesBothWays) {
  for (const AccessMode mode : {R, W}) {
    const Address b = memory();
    measured(s, {piece(mode, b)});
    measured(t, {piece(A, b)});
    EXPECT_TRUE(one(mode == R ? HazardKind::WriteAfterRead : HazardKind::WriteAfterWrite));
    const Address c = memory();
    measured(s, {piece(A, c)});
    measured(t, {piece(mode, c)});
    EXPECT_TRUE(one(mode == R ? HazardKind::ReadAfterWrite : HazardKind::WriteAfterWrite));
  }
}

TEST_F(KnownBytes, AnAtomicHidesNeitherAReadNorAWriteBeforeIt) {
  for (const AccessMode mode : {R, W}) {
    const Address b = memory();
    measured(s, {piece(mode, b)});
    measured(s, {piece(A, b)});
    EXPECT_TRUE(silent());
    measured(t, {piece(A, b)});
    EXPECT_TRUE(one(mode == R ? HazardKind::WriteAfterRead : HazardKind::WriteAfterWrite));
  }
}

TEST_F(KnownBytes, AKernelThatWorksInPlaceGivesOneHazard) {
  write(s, a);
  measured(t, {piece(W, a), piece(R, a)});
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite)) << "named after its read";
}

TEST_F(KnownBytes, PiecesOfOneLaunchDoNotRaceAndGiveOneHazard) {
  std::vector<KernelBytes> pieces;
  for (Address i = 0; i < 400; ++i) pieces.push_back(piece(i % 2 ? W : R, a + i * 8, 16));
  measured(s, pieces);
  EXPECT_TRUE(silent());
  measured(t, pieces);
  EXPECT_EQ(found().size(), 1u);
}

TEST_F(KnownBytes, PiecesBesideAPointer) {
  measured(s, {piece(R, a)}, {{a, AccessMode::Unknown}});
  write(t, a + 2 * kAccess);
  EXPECT_TRUE(one_possible()) << "an incomplete footprint: the pointer may reach further";
}

TEST_F(KnownBytes, ManyPiecesMeetAPointer) {
  const PointerArgument pointer{a + kMemory / 2, AccessMode::Unknown};
  model.launch(call(), s, {.function = FunctionId{2}, .threads = 64}, {&pointer, 1});
  std::vector<KernelBytes> below;
  for (Address i = 0; i < 100; ++i) below.push_back(piece(W, a + i * 16, 8));
  measured(t, below);
  EXPECT_TRUE(silent()) << "all end before the pointer";
  below.push_back(piece(W, a + kMemory - 8, 8));
  measured(t, below);
  EXPECT_TRUE(one_possible());
}

TEST_F(KnownBytes, ColumnsOfAMatrix) {
  const auto column = [this](Address i) {
    return KernelBytes{.bytes = {.base = a + i * 8, .width = 8, .pitch = 64, .rows = 64}, .mode = W};
  };
  measured(s, {column(0)});
  measured(t, {column(1)});
  EXPECT_TRUE(silent()) << "the columns are interleaved and disjoint";
  measured(t, {column(0)});
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(KnownBytes, ThousandsOfRowsAreAllRemembered) {
  const Address big = 0x4000'0000;
  model.allocate(call(), {big, big + (Address{1} << 24)}, MemoryKind::Device);
  const auto column = [](Address base) {
    return KernelBytes{.bytes = {.base = base, .width = 8, .pitch = 4096, .rows = 4096}, .mode = W};
  };
  measured(s, {column(big)});
  measured(t, {column(big + 8)});
  EXPECT_TRUE(silent());
  const Address last = big + 4095 * 4096;
  measured(t, {piece(R, last + 8, 4088)});
  EXPECT_TRUE(silent());
  measured(t, {piece(R, last + 4, 8)});
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].certainty, Certainty::Certain);
  EXPECT_EQ(hazards[0].earlier.range, (Range{last, last + 8})) << "one row, and not all";
  EXPECT_EQ(hazards[0].overlap, (Range{last + 4, last + 8}));
  measured(t, {column(big)});
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
  EXPECT_EQ(model.statistics().forgotten, 0u);
}

TEST_F(KnownBytes, TilesOfAMatrixMeetInTheirHaloOnly) {
  // 2,048 rows of 8 KiB, in tiles of 16 by 16 words: 16,384 tiles of 16 runs of 64 bytes. One stream works on the left
  // half of each tile, the other one on the right half.
  const Address big = 0x4000'0000;
  model.allocate(call(), {big, big + (Address{1} << 24)}, MemoryKind::Device);
  const auto half = [&](Address shift, Bytes width, AccessMode mode) {
    return KernelBytes{.bytes = {big + shift, width, 64, 127, 2047, 8192}, .mode = mode};
  };
  for (int i = 0; i < 100; ++i) {
    measured(s, {half(0, 32, W), half(32, 32, R)});
    edge(s, t);
    measured(t, {half(32, 32, R)});
    edge(t, s);
  }
  measured(s, {half(0, 32, W)});
  measured(t, {half(32, 32, W)});
  EXPECT_TRUE(silent());
  measured(t, {half(28, 32, R)});
  std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].kind, HazardKind::ReadAfterWrite);
  EXPECT_EQ(hazards[0].overlap.size(), 4u);
  EXPECT_EQ(hazards[0].earlier.range.size(), 32u);
  EXPECT_EQ(hazards[0].later.range.size(), 32u);
  EXPECT_EQ(hazards[0].overlap, intersection(hazards[0].earlier.range, hazards[0].later.range));
  EXPECT_EQ(model.statistics().forgotten, 0u);
}

TEST_F(KnownBytes, RowsBesideAPointer) {
  // A pointer that may reach to the end, and rows before it, behind it and around it.
  const auto rows = [&](Address base, Bytes width, std::uint64_t count) {
    return KernelBytes{.bytes = {.base = base, .width = width, .pitch = 64, .rows = count}, .mode = W};
  };
  const PointerArgument pointer{a + kMemory / 2, AccessMode::Unknown};
  model.launch(call(), s, {.function = FunctionId{2}, .threads = 16}, {&pointer, 1});
  measured(t, {rows(a, 32, 32)});
  EXPECT_TRUE(silent()) << "all end before the pointer";
  measured(t, {rows(a + kMemory / 2 + 64, 32, 20)});
  EXPECT_TRUE(one_possible());
  measured(t, {rows(a + 16, 32, 60)});
  EXPECT_TRUE(one_possible());
  measured(t, {rows(a, 32, 60)});
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite)) << "one row holds the pointer, and a byte for each thread";
}

TEST_F(KnownBytes, RowsBesideATexture) {
  const KernelBytes rows{.bytes = {.base = a, .width = 32, .pitch = 64, .rows = 20}, .mode = W};
  const auto through_texture = [&](StreamId stream, Address begin, Bytes reach) {
    const PointerArgument pointer{.address = begin, .mode = W, .reach = reach};
    model.launch(call(), stream, {.function = FunctionId{2}, .threads = 16}, {&pointer, 1});
  };
  measured(s, {rows});
  through_texture(t, a + 32, 32);
  EXPECT_TRUE(silent()) << "what is between two rows";
  through_texture(t, a + 32, 64);
  EXPECT_TRUE(one_possible()) << "the second row, though the last one reaches further";
  measured(s, {rows});
  EXPECT_TRUE(one_possible()) << "the other way round";
}

TEST_F(KnownBytes, AShortTextureStandsForNoLongerReach) {
  const auto given = [&](StreamId stream, Address begin, Bytes reach) {
    const PointerArgument pointer{.address = begin, .mode = W, .reach = reach};
    model.launch(call(), stream, {.function = FunctionId{2}, .threads = 16}, {&pointer, 1});
  };
  given(s, a, 64);
  given(s, a + kMemory / 2, 64);
  write(t, a + 512);
  given(t, a + 256, 64);
  EXPECT_TRUE(silent()) << "beside both";

  const Address b = memory();
  given(s, b + 1024, 0);
  given(s, b + 1024, 64);
  write(t, b + 2048);
  EXPECT_TRUE(one_possible()) << "the pointer that the same kernel was given before reaches to the end";
  given(t, b + 1536, 64);
  EXPECT_TRUE(one_possible()) << "also where no newer one reaches";
}

TEST_F(KnownBytes, RowsOverTheEndOfTheirAllocation) {
  const Address next = a + kMemory;
  model.allocate(call(), {next, next + kMemory}, MemoryKind::Device);
  measured(s, {{.bytes = {.base = a + 32, .width = 16, .pitch = 64, .rows = 128}, .mode = W}});
  write(t, next + 48);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite)) << "neighbours, as mapped ranges are";
  measured(t, {{.bytes = {.base = a + 48, .width = 16, .pitch = 64, .rows = 64}, .mode = W}});
  EXPECT_TRUE(silent());
}

TEST_F(KnownBytes, FourHundredPiecesCostLittle) {
  const Address big = 0x4000'0000;
  model.allocate(call(), {big, big + (Address{1} << 20)}, MemoryKind::Device);
  std::vector<KernelBytes> pieces;
  for (Address i = 0; i < 400; ++i) pieces.push_back(piece(i % 2 ? W : R, big + i * 2048, 1024));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) measured(s, pieces);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{5}) << "12.5 us for each piece are plenty";
  EXPECT_TRUE(silent());
  EXPECT_LE(model.statistics().shadow_entries, 400u);
  EXPECT_EQ(model.statistics().forgotten, 0u);
}

}  // namespace
}  // namespace streamsan::ordering::testing
