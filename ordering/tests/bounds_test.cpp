// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory is bounded by what lives at one time, never by the length of the program; and bounding it loses nothing here
// that these programs could notice.
#include <malloc.h>

#include "ordering/pointer_shadow.h"
#include "ordering/set_shadow.h"
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class Bounds : public ModelTest {
 protected:
  /// Large blocks stand beside the heap, or in it: which of the two depends on what the process has freed before.
  static std::size_t heap() {
    const auto now = mallinfo2();
    return now.uordblks + now.hblkhd;
  }

  /// Runs the body once to reach its size, then often, and expects the heap not to grow.
  template <typename Body>
  void expect_no_growth(int warm_up, int rounds, Body body) {
    for (int i = 0; i < warm_up; ++i) body();
    const std::size_t before = heap();
    for (int i = 0; i < rounds; ++i) body();
    EXPECT_LE(heap(), before + 256 * 1024) << "less than a byte for each round may come and go";
    EXPECT_TRUE(silent());
  }
};

TEST_F(Bounds, MillionsOfStreams) {
  const Address a = memory();
  expect_no_growth(10'000, 500'000, [&] {
    const StreamId s = non_blocking();
    write(s, a);
    sync_stream(s);
    model.destroy_stream(s);
  });
  EXPECT_EQ(model.statistics().live_streams, 0u);
}

TEST_F(Bounds, MillionsOfStreamsNeverWaitedFor) {
  expect_no_growth(10'000, 500'000, [&] {
    const StreamId s = blocking();
    model.stream_action(call(), s);
    model.destroy_stream(s);
  });
}

TEST_F(Bounds, MillionsOfEvents) {
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  expect_no_growth(10'000, 500'000, [&] {
    const EventId event = model.create_event();
    model.record_event(call(), s, event);
    model.wait_event(call(), t, event);
    model.destroy_event(event);
  });
}

TEST_F(Bounds, MillionsOfAllocations) {
  const StreamId s = non_blocking();
  Address next = 0x1000'0000;
  expect_no_growth(10'000, 500'000, [&] {
    const Address base = next;
    next += 0x1000;
    model.allocate_async(call(), s, {base, base + 0x1000});
    write(s, base);
    kernel(s, 1, base);
    model.free_async(call(), s, base);
  });
  EXPECT_EQ(model.statistics().shadow_entries, 0u);
}

TEST_F(Bounds, MillionsOfLaunchesWithAThousandPointers) {
  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  const Address pool = 0x4000'0000;
  model.allocate(call(), {pool, pool + (20u << 20)}, MemoryKind::Device);
  std::uint32_t i = 0;
  // A table doubles for the last time after half a million launches: it stays as it is for the next eight.
  expect_no_growth(1'000'000, 1'000'000, [&] {
    ++i;
    const StreamId stream = i / 16 % 2 ? s : t;
    if (i % 16 == 0) edge(stream == s ? t : s, stream);
    kernel(stream, i % 30, pool + i * 7919 % 1000 * 20480, i % 3 ? AccessMode::Unknown : AccessMode::Read);
  });
  EXPECT_LE(model.statistics().shadow_entries, 1000u * 3 * PointerShadow::kKernelsKept);
  EXPECT_EQ(model.statistics().forgotten, 0u);
}

TEST_F(Bounds, MillionsOfCopiesToRandomPlaces) {
  const StreamId s = non_blocking();
  const Address a = 0x4000'0000;
  model.allocate(call(), {a, a + (1u << 20)}, MemoryKind::Device);
  std::uint32_t random = 1;
  expect_no_growth(100'000, 900'000, [&] {
    random = random * 1664525u + 1013904223u;
    const Address base = a + (random >> 8) % ((1u << 20) - 512);
    copy(s, bytes(base, 1 + (random >> 4) % 512), array(), Form::Asynchronous);
  });
  EXPECT_LE(model.statistics().shadow_entries, 10'000u);
}

/// A tile of each row of a matrix: a hundred thousand runs of bytes.
KernelBytes tiles(Address matrix, Bytes shift, AccessMode mode) {
  return {.bytes = {matrix + shift, 16, 64, 100, 1000, 8192}, .mode = mode};
}

TEST_F(Bounds, ThousandsOfLaunchesWithAHundredThousandRows) {
  const StreamId s = non_blocking();
  const Address one = 0x4000'0000, other = 0x6000'0000;
  model.allocate(call(), {one, one + (16u << 20)}, MemoryKind::Device);
  model.allocate(call(), {other, other + (16u << 20)}, MemoryKind::Device);
  std::uint32_t i = 0;
  expect_no_growth(100, 20'000, [&] {
    const bool turned = ++i % 2 != 0;
    const KernelBytes bytes[] = {tiles(turned ? one : other, 0, AccessMode::Read),
                                 tiles(turned ? other : one, 16, AccessMode::Write)};
    model.launch(call(), s, {.function = FunctionId{1}, .threads = 1024}, {}, bytes);
  });
  EXPECT_EQ(model.statistics().shadow_entries, 4u);
  EXPECT_EQ(model.statistics().comparisons, 0u) << "what is ordered need not be compared";
  EXPECT_EQ(model.statistics().forgotten, 0u);
}

TEST_F(Bounds, ThousandsOfUnorderedLaunchesBetweenEachOthersRows) {
  const StreamId s = non_blocking(), t = non_blocking();
  const Address a = 0x4000'0000;
  model.allocate(call(), {a, a + (16u << 20)}, MemoryKind::Device);
  expect_no_growth(100, 20'000, [&] {
    const KernelBytes left = tiles(a, 0, AccessMode::Write), right = tiles(a, 32, AccessMode::Write);
    model.launch(call(), s, {.function = FunctionId{1}, .threads = 1024}, {}, {&left, 1});
    model.launch(call(), t, {.function = FunctionId{1}, .threads = 1024}, {}, {&right, 1});
  });
  EXPECT_EQ(model.statistics().shadow_entries, 2u);
  EXPECT_LE(model.statistics().comparisons, 2u) << "once, and then remembered";
  EXPECT_EQ(model.statistics().forgotten, 0u);
}

TEST_F(Bounds, EverDifferentRows) {
  const StreamId s = non_blocking();
  const Address a = 0x4000'0000;
  model.allocate(call(), {a, a + (64u << 20)}, MemoryKind::Device);
  Address shift = 0;
  const auto launch = [&] {
    shift = (shift + 64) % (32u << 20);
    const KernelBytes bytes = tiles(a, shift, AccessMode::Write);
    model.launch(call(), s, {.function = FunctionId{1}, .threads = 1024}, {}, {&bytes, 1});
  };
  for (int i = 0; i < 20'000; ++i) launch();
  const std::size_t before = heap();
  for (int i = 0; i < 100'000; ++i) launch();
  EXPECT_LE(heap(), before + (4u << 20)) << "sets that nobody remembers come and go";
  EXPECT_TRUE(silent());
  EXPECT_LE(model.statistics().shadow_entries, SetShadow::kMostSets);
  EXPECT_GT(model.statistics().forgotten, 0u) << "and says so";
  // Neither a host that waits nor a write of everything leaves any.
  model.fill(call(), s, {a, 64u << 20}, Form::Asynchronous);
  model.returned(kMain, true);
  EXPECT_EQ(model.statistics().shadow_entries, 1u);
}

TEST_F(Bounds, ExecutableGraphsThatAreNeverSeenToDie) {
  const StreamId s = non_blocking();
  std::uint64_t exec = 0;
  expect_no_growth(10'000, 500'000, [&] { model.graph_launch(call(), s, ++exec); });
}

TEST_F(Bounds, ASynchronisedAllocationRemembersNothing) {
  const StreamId s = non_blocking();
  const Address a = memory();
  for (Address i = 0; i < 100; ++i) kernel(s, 1, a + i * 8);
  EXPECT_GE(model.statistics().shadow_entries, 100u);
  sync_stream(s);
  kernel(s, 1, a);
  EXPECT_LE(model.statistics().shadow_entries, 2u);
}

// ---- slots ---------------------------------------------------------------------------------------------------------

TEST_F(Bounds, ASlotUsedAgainDoesNotInventAHazard) {
  const Address a = memory();
  const StreamId t = non_blocking();
  const EventId event = model.create_event();
  const StreamId s = non_blocking();
  edge(t, s);
  write(t, a);
  edge(t, s);
  model.record_event(call(), s, event);
  model.destroy_stream(s);
  // More streams than slots may wait, none of them waited for: the slot of s is taken over for certain.
  for (int i = 0; i < 200; ++i) {
    const StreamId heir = non_blocking();
    model.stream_action(call(), heir);
    model.wait_event(call(), heir, event);
    read(heir, a);
    model.destroy_stream(heir);
  }
  EXPECT_TRUE(silent());
}

TEST_F(Bounds, ASlotWhoseWorkIsKnownToBeCompleteLosesNothing) {
  const Address a = memory();
  for (int i = 0; i < 200; ++i) {
    const StreamId s = non_blocking();
    const StreamId t = non_blocking();
    write(s, a);
    write(t, a);
    EXPECT_TRUE(one(HazardKind::WriteAfterWrite)) << i;
    sync_context();
    model.destroy_stream(s);
    model.destroy_stream(t);
  }
}

TEST_F(Bounds, FewStreamsInFlightLoseNothing) {
  const Address a = memory();
  for (int i = 0; i < 20; ++i) {
    const StreamId s = non_blocking();
    write(s, a);
    model.destroy_stream(s);
    EXPECT_EQ(silent(), i == 0) << i;
  }
}

}  // namespace
}  // namespace streamsan::ordering::testing
