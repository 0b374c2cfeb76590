// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loans that are kept after the wait (option syncs): what settles, how long its pages stay guarded, which touch ends
// it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interposer/host/guards.h"
#include "interposer/host/loans.h"
#include "interposer/tests/loans_fixture.h"

namespace streamsan::recorder {
namespace {

TEST_F(SettledLoans, StayGuardedUntilTheFirstTouch) {
  settle(LoanUse::Writes);
  for (std::size_t page = 0; page < 4; ++page) EXPECT_FALSE(readable(memory_ + page * kPageBytes));
  read_at(memory_ + 40);
  const auto records = take_records();
  ASSERT_EQ(records.size(), 2u);
  expect_idle(records[0], kFirst, true);
  EXPECT_EQ(records[1].kind, trace::Kind::HostAccess);
  EXPECT_EQ(records[1].as<trace::Kind::HostAccess>().address, address(memory_ + 40));
  EXPECT_EQ(records[1].as<trace::Kind::HostAccess>().writes, 0u);
  EXPECT_FALSE(any_loans());
  EXPECT_TRUE(writable(memory_) && writable(memory_ + 3 * kPageBytes));
  end_loans_with_process();
  expect_silence();
}

TEST_F(SettledLoans, WithoutTheOptionThereAreNone) {
  testing::test_options().syncs = 0;
  settle(LoanUse::Writes);
  EXPECT_FALSE(any_loans());
  EXPECT_TRUE(writable(memory_));
  read_at(memory_ + 40);
  expect_silence();
}

TEST_F(SettledLoans, ASourceMayBeReadOn) {
  settle(LoanUse::Reads);
  read_at(memory_ + 40);
  before_host_call(memory_ + 16, 100, false, "write", __builtin_frame_address(0));
  expect_silence();
  EXPECT_FALSE(writable(memory_));
  write_at(memory_ + 40);
  const auto records = take_records();
  ASSERT_EQ(records.size(), 2u);
  expect_idle(records[0], kFirst, true);
  EXPECT_EQ(records[1].as<trace::Kind::HostAccess>().writes, 1u);
}

TEST_F(SettledLoans, ACallOfLibcIsATouch) {
  settle(LoanUse::Writes);
  before_host_call(memory_ + kPageBytes, 10, false, "write", __builtin_frame_address(0));
  const auto records = take_records();
  ASSERT_EQ(records.size(), 2u);
  expect_idle(records[0], kFirst, true);
  EXPECT_EQ(records[1].as<trace::Kind::HostAccess>().way, trace::AccessWay::Call);
  for (std::size_t page = 0; page < 4; ++page) EXPECT_TRUE(writable(memory_ + page * kPageBytes));
}

TEST_F(SettledLoans, RunsThatOverlapKeepWhatTheOthersAskFor) {
  const auto page = [&](unsigned number) { return memory_ + number * kPageBytes; };
  const auto lend_pages = [&](unsigned from, unsigned count, LoanUse use, StreamArgument stream) {
    lend(address(page(from)), count * kPageBytes, use, stream, false, kFirst);
  };
  lend_pages(0, 20, LoanUse::Reads, kStream);
  lend_pages(5, 5, LoanUse::Writes, kOther);
  lend_pages(8, 20, LoanUse::Reads, kNonBlocking);
  for (unsigned at = 0; at < 28; ++at) {
    EXPECT_EQ(readable(page(at)), at < 5 || at >= 10) << at;
    EXPECT_FALSE(writable(page(at))) << at;
  }
  before_host_call(page(6), 1, true, "read", __builtin_frame_address(0));  // ends the first two
  for (unsigned at = 0; at < 30; ++at) {
    EXPECT_TRUE(readable(page(at))) << at;
    EXPECT_EQ(writable(page(at)), at < 8 || at >= 28) << at;
  }
  stream_waited_for(kNonBlocking);
  EXPECT_FALSE(writable(page(8)));
  host_memory_going(address(memory_));
  for (unsigned at = 0; at < 30; ++at) EXPECT_TRUE(writable(page(at))) << at;
}

TEST_F(SettledLoans, ATouchBeforeTheWaitIsTheFirst) {
  lend_few(LoanUse::Writes);
  read_at(memory_ + 40);
  const auto records = take_records();
  ASSERT_EQ(records.size(), 2u);
  expect_idle(records[0], kFirst, true);
  stream_waited_for(kStream);
  EXPECT_FALSE(any_loans());
}

TEST_F(SettledLoans, PageableMemoryIsKeptForItsFree) {
  char* heap = make();
  lend(address(heap), kBytes, LoanUse::Reads, kStream, true, kFirst);
  stream_waited_for(kStream);
  before_host_free(heap, kBytes, trace::HostFreeWay::Unmap, "munmap", __builtin_frame_address(0));
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, trace::Kind::HostFree);
  EXPECT_FALSE(any_loans());
  munmap(heap, kBytes);
}

TEST_F(SettledLoans, NoTimeNoSettling) {
  testing::test_options().host_guard_cost = 0;
  for (unsigned i = 0; i < 20'000; ++i) {
    settle(LoanUse::Writes);
    read_at(memory_ + 40);
  }
  take_records();
  settle(LoanUse::Writes);
  EXPECT_FALSE(any_loans());
}

TEST_F(SettledLoans, AChildTouchesItsCopyOfThem) {
  settle(LoanUse::Writes);
  const pid_t child = fork();
  if (child == 0) {
    *static_cast<volatile char*>(memory_) = 1;
    renew_loans();
    _exit(writable(memory_ + 3 * kPageBytes) ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(readable(memory_));
}

TEST_F(SettledLoans, ManyThreads) {
  use_by_many_threads();
  end_loans_with_process();
  EXPECT_FALSE(any_loans());
  for (std::size_t page = 0; page < kPages; ++page) EXPECT_TRUE(writable(memory_ + page * kPageBytes));
}

}  // namespace
}  // namespace streamsan::recorder
