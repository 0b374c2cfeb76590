// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When may it be said that nobody has touched settled memory (HostIdle records)? Beside each claim, who takes it away.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>

#include "interposer/host/guards.h"
#include "interposer/host/loans.h"
#include "interposer/tests/loans_fixture.h"

namespace streamsan::recorder {
namespace {

TEST_F(SettledLoans, EventsAndContextsSettleToo) {
  lend_few(LoanUse::Writes);
  event_recorded(100, kStream);
  event_waited_for(100);
  EXPECT_FALSE(readable(memory_));
  end_loans_with_process();
  expect_idle(kFirst);
  lend_few(LoanUse::Writes);
  context_waited_for(kContext);
  EXPECT_FALSE(readable(memory_));
  context_waited_for(kContext);
  end_loans_with_process();
  expect_idle(kFirst);
}

TEST_F(SettledLoans, IdleWhenTheMemoryEnds) {
  settle(LoanUse::Writes);
  host_memory_going(address(memory_));
  expect_idle(kFirst);
  EXPECT_TRUE(writable(memory_));
}

TEST_F(SettledLoans, IdleWhenItsContextEnds) {
  host_memory_given(MemoryKind::Pinned, address(memory_), kBytes, 5);
  settle(LoanUse::Writes);
  end_loans_with_context(5);
  expect_idle(kFirst);
  settle(LoanUse::Writes);
  end_loans_with_context(6);
  EXPECT_FALSE(any_loans());
  expect_silence();
}

TEST_F(SettledLoans, IdleWhenItIsLentAgain) {
  settle(LoanUse::Writes);
  lend_few(LoanUse::Writes, kSecond);
  expect_idle(kFirst);
  stream_waited_for(kStream);
  lend_all(LoanUse::Writes);
  expect_idle(kSecond);
}

TEST_F(SettledLoans, WhatDoesNotTakeOverEndsNothing) {
  settle(LoanUse::Writes);
  lend_all(LoanUse::Reads);                                                          // the host may read meanwhile
  lend_all(LoanUse::Writes, kOther);                                                 // another stream
  lend(address(memory_), 2 * kPageBytes, LoanUse::Writes, kStream, false);           // not all of it
  lend(address(memory_), kBytes / 2, LoanUse::Writes, kStream, false, {33, false});  // with gaps
  expect_silence();
  stream_waited_for(kStream);
  stream_waited_for(kOther);
  read_at(memory_ + 40);
  const auto records = take_records();
  ASSERT_EQ(records.size(), 5u) << "of all that write, and the touch";
  EXPECT_EQ(records[4].kind, trace::Kind::HostAccess);
}

TEST_F(SettledLoans, AKernelTakesNothingOver) {
  const std::uint64_t pointer = trace::pointer_word(0, address(memory_) + kBytes - kPageBytes);
  lend_from(&pointer, 1, kStream, 7);
  stream_waited_for(kStream);
  lend_from(&pointer, 1, kStream, 8);
  expect_silence();
  stream_waited_for(kStream);
  end_loans_with_process();
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].as<trace::Kind::HostIdle>().position, 8u);
}

TEST_F(SettledLoans, ALargeOneIsSeenButNotIdle) {
  const std::size_t bytes = kMostWhole + kPageBytes;
  char* large = static_cast<char*>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  host_memory_given(MemoryKind::Pinned, address(large), bytes);
  lend(address(large), bytes, LoanUse::Writes, kStream, false, kFirst);
  stream_waited_for(kStream);
  EXPECT_FALSE(readable(large));
  EXPECT_FALSE(readable(large + bytes - 1));
  read_at(large + bytes - 1);
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, trace::Kind::HostAccess);
  lend(address(large), bytes, LoanUse::Writes, kStream, false, kFirst);
  stream_waited_for(kStream);
  host_memory_going(address(large));
  expect_silence();
  munmap(large, bytes);
}

TEST_F(SettledLoans, ANeighbourEndsItWithoutAWord) {
  settle(LoanUse::Writes);
  write_at(memory_);
  EXPECT_FALSE(any_loans());
  expect_silence();
  settle(LoanUse::Writes);
  before_host_call(memory_, 16, true, "read", __builtin_frame_address(0));
  EXPECT_FALSE(any_loans());
  expect_silence();
}

TEST_F(SettledLoans, WhoTakesGuardsAwayTakesTheClaimAway) {
  settle(LoanUse::Writes);
  before_host_mapping(memory_ + kPageBytes, 1);
  EXPECT_FALSE(any_loans());
  settle(LoanUse::Writes);
  before_host_mapping(nullptr, ~std::size_t{0});
  EXPECT_FALSE(any_loans());
  lend_few(LoanUse::Writes);
  before_host_mapping(memory_, 1);
  stream_waited_for(kStream);
  end_loans_with_process();
  settle(LoanUse::Writes);
  end_all_loans();
  settle(LoanUse::Writes);
  loans_are_copied();
  end_loans_with_process();
  expect_silence();
  settle(LoanUse::Writes);
  guard_no_more(address(memory_), kPageBytes);
  EXPECT_FALSE(any_loans());
  expect_silence();
}

TEST_F(SettledLoans, TheDriverMayTouchWhatItIsLentAgainFor) {
  settle(LoanUse::Writes);
  ++t_thread.calls;
  EXPECT_TRUE(host_touched(address(memory_) + 40, true, false, 0));
  EXPECT_TRUE(writable(memory_ + 3 * kPageBytes));
  lend_few(LoanUse::Writes, kSecond);
  expect_idle(kFirst);
  EXPECT_FALSE(readable(memory_));
  stream_waited_for(kStream);
  ++t_thread.calls;
  EXPECT_TRUE(host_touched(address(memory_) + 40, true, false, 0));
  ++t_thread.calls;
  lend_few(LoanUse::Writes, kFirst);
  expect_silence();
}

TEST_F(SettledLoans, OnlyThreadsThatTheJudgeBelievesSayWhatWasIdle) {
  settle(LoanUse::Writes);
  std::thread([&] { read_at(memory_ + 40); }).join();
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, trace::Kind::HostAccess);
}

TEST_F(SettledLoans, RegisteredMemoryThatIsSharedIsNotIdle) {
  for (const int sharing : {MAP_PRIVATE, MAP_SHARED}) {
    char* heap = static_cast<char*>(
        mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
    host_memory_given(MemoryKind::Registered, address(heap), 2 * kPageBytes);
    lend(address(heap), 2 * kPageBytes, LoanUse::Writes, kStream, false, kFirst);
    stream_waited_for(kStream);
    host_memory_going(address(heap));
    EXPECT_EQ(take_records().size(), sharing == MAP_PRIVATE ? 1u : 0u);
    munmap(heap, 2 * kPageBytes);
  }
}

TEST_F(SettledLoans, StandBackWhenTheTableIsFull) {
  settle(LoanUse::Writes);
  for (unsigned i = 0; i < 300; ++i)
    lend(address(memory_) + (8 + i / 32) * kPageBytes + 8 * i, 4, LoanUse::Reads, kOther, false);
  EXPECT_TRUE(readable(memory_));
  end_loans_with_process();
  for (const auto& record : take_records()) EXPECT_NE(record.as<trace::Kind::HostIdle>().position, kFirst.position);
}

}  // namespace
}  // namespace streamsan::recorder
