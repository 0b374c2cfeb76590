// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of the agent of the times that need no CUPTI: the table in which CUPTI's numbers and records of the trace
// meet, the buffers that go round, the thread that flushes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "interposer/timings/buffers.h"
#include "interposer/timings/flusher.h"
#include "interposer/timings/meeting.h"

namespace streamsan::timings {
namespace {

constexpr std::uint32_t kSize = Meeting::kSize;

struct Met : ::testing::Test {
  std::unique_ptr<Meeting> table = std::make_unique<Meeting>();
  StreamSanTime out{};

  void expect(std::uint64_t position, std::uint64_t start, std::uint64_t end) const {
    EXPECT_EQ(out.position, position);
    EXPECT_EQ(out.start, start);
    EXPECT_EQ(out.end, end);
  }
};

TEST_F(Met, TheRecordFirst) {
  EXPECT_FALSE(table->call(7, 100, out)) << "nothing to deliver yet";
  EXPECT_TRUE(table->time(7, 10, 20, out));
  expect(100, 10, 20);
}

TEST_F(Met, TheTimesFirst) {
  EXPECT_FALSE(table->time(7, 10, 20, out));
  EXPECT_TRUE(table->call(7, 100, out));
  expect(100, 10, 20);
}

TEST_F(Met, APositionOfNoughtIsAPosition) {
  EXPECT_FALSE(table->call(1, 0, out));
  EXPECT_TRUE(table->time(1, 10, 20, out));
  expect(0, 10, 20);
}

TEST_F(Met, OfACallWithManyOperationsEachIsDelivered) {
  EXPECT_FALSE(table->time(7, 30, 40, out));
  EXPECT_FALSE(table->time(7, 10, 20, out));
  EXPECT_TRUE(table->call(7, 100, out));
  expect(100, 10, 40);  // those that came too early, as one
  EXPECT_TRUE(table->time(7, 50, 60, out));
  expect(100, 50, 60);
}

TEST_F(Met, NumbersDoNotMix) {
  EXPECT_FALSE(table->call(7, 100, out));
  EXPECT_FALSE(table->call(8, 101, out));
  EXPECT_TRUE(table->time(8, 1, 2, out));
  expect(101, 1, 2);
  EXPECT_FALSE(table->time(9, 3, 4, out)) << "no record has this number";
  EXPECT_TRUE(table->time(7, 5, 6, out));
  expect(100, 5, 6);
}

TEST_F(Met, ANewerCallTakesThePlaceOfAnOldOne) {
  EXPECT_FALSE(table->call(7, 100, out));
  EXPECT_FALSE(table->call(7 + kSize, 200, out));
  EXPECT_FALSE(table->time(7, 10, 20, out)) << "lost, and not given to the newer one";
  EXPECT_FALSE(table->call(8, 101, out));
  EXPECT_FALSE(table->call(8 + kSize - 1, 300, out));
  EXPECT_TRUE(table->time(8, 10, 20, out)) << "the table is not full yet";
  expect(101, 10, 20);
}

TEST_F(Met, TimesThatNobodyClaimsAreNotGivenToTheNext) {
  EXPECT_FALSE(table->time(7, 10, 20, out));
  EXPECT_FALSE(table->call(7 + kSize, 200, out));
  EXPECT_TRUE(table->time(7 + kSize, 30, 40, out));
  expect(200, 30, 40);
}

TEST_F(Met, FromTwoThreadsEachTimeIsDeliveredOnce) {
  constexpr std::uint32_t kCalls = 200'000;
  std::vector<std::atomic<int>> seen(kCalls + 1);
  std::atomic<int> wrong{0};
  auto deliver = [&](const StreamSanTime& time) {
    if (time.position > kCalls || time.start != time.position + 5 || time.end != time.start + 1) {
      ++wrong;
    } else {
      ++seen[time.position];
    }
  };
  std::thread calls([&] {
    StreamSanTime time;
    for (std::uint32_t n = 1; n <= kCalls; ++n) {
      if (table->call(n, n, time)) deliver(time);
    }
  });
  std::thread times([&] {
    StreamSanTime time;
    for (std::uint32_t n = 1; n <= kCalls; ++n) {
      if (table->time(n, n + 5, n + 6, time)) deliver(time);
    }
  });
  calls.join();
  times.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(std::all_of(seen.begin() + 1, seen.end(), [](const auto& count) { return count == 1; }));
}

TEST(TimingBuffers, GoRound) {
  auto buffers = std::make_unique<Buffers>();
  std::set<std::uint8_t*> taken;
  for (std::size_t i = 0; i < Buffers::kCount; ++i) {
    std::uint8_t* buffer = buffers->take();
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 8, 0u) << "CUPTI asks for that";
    buffer[0] = buffer[Buffers::kBytes - 1] = 1;
    EXPECT_TRUE(taken.insert(buffer).second) << "nobody else has it";
  }
  EXPECT_EQ(buffers->take(), nullptr) << "there are no more";
  std::uint8_t foreign = 0;
  buffers->give_back(&foreign);
  EXPECT_EQ(buffers->take(), nullptr) << "that was none of them";
  std::uint8_t* some = *std::next(taken.begin(), 5);
  buffers->give_back(some);
  EXPECT_EQ(buffers->take(), some);
  EXPECT_EQ(buffers->take(), nullptr);
}

std::atomic<int> g_flushes{0};
std::atomic<int> g_last{0};
std::atomic<bool> g_stuck{false};

void flush(bool last) {
  ++g_flushes;
  if (last) ++g_last;
  while (last && g_stuck) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(TimingFlusher, FlushesNowAndThenAndAtTheEnd) {
  g_flushes = g_last = 0;
  Flusher flusher;
  ASSERT_TRUE(flusher.start(flush, 1));
  while (g_flushes < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(g_last, 0);
  EXPECT_TRUE(flusher.finish(20'000));
  EXPECT_EQ(g_last, 1);
  const int then = g_flushes;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(g_flushes, then) << "the last one was the last one";
}

TEST(TimingFlusher, AFlushThatHangsDoesNotHoldTheProgram) {
  g_stuck = true;
  static Flusher flusher;  // its thread outlives the test by a little
  ASSERT_TRUE(flusher.start(flush, 60'000));
  EXPECT_FALSE(flusher.finish(20));
  g_stuck = false;
  EXPECT_TRUE(flusher.finish(20'000));
}

}  // namespace
}  // namespace streamsan::timings
