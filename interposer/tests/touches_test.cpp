// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host does to memory that is lent: by instructions, by functions of libc, by freeing it, in a child; and that
// nothing is guarded once the time for guards has run out.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interposer/clock.h"
#include "interposer/host/guards.h"
#include "interposer/host/loans.h"
#include "interposer/tests/loans_fixture.h"

namespace streamsan::recorder {
namespace {

TEST_F(Loans, ATouchIsRecordedOnceAndGoesOn) {
  lend_all(LoanUse::Writes);
  write_at(memory_ + 40);
  EXPECT_EQ(memory_[40], 3);
  write_at(last());
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, trace::Kind::HostAccess);
  EXPECT_EQ(records[0].as<trace::Kind::HostAccess>().address, address(memory_ + 40));
  EXPECT_EQ(records[0].as<trace::Kind::HostAccess>().bytes, 1u);
  EXPECT_EQ(records[0].as<trace::Kind::HostAccess>().way, trace::AccessWay::Instruction);
  EXPECT_EQ(records[0].as<trace::Kind::HostAccess>().writes, 1u);
  // The next operation that uses it makes it worth a look again.
  lend_all(LoanUse::Writes);
  EXPECT_FALSE(readable(memory_));
  read_at(memory_);
  ASSERT_EQ(take_records().size(), 1u);
}

TEST_F(Loans, ReadingWhatIsOnlyReadIsNoTouch) {
  lend_all(LoanUse::Reads);
  read_at(memory_);
  EXPECT_TRUE(take_records().empty());
  write_at(memory_);
  ASSERT_EQ(take_records().size(), 1u);
}

TEST_F(Loans, ANeighbourOnAGuardedPageMattersNot) {
  lend(address(memory_) + 512, 64, LoanUse::Writes, kStream, false);
  write_at(memory_);
  EXPECT_TRUE(take_records().empty());
  EXPECT_TRUE(any_loans());
}

TEST_F(Loans, SystemCallsFindTheirPages) {
  lend_all(LoanUse::Writes);
  before_host_call(memory_, kBytes, false, "write", __builtin_frame_address(0));
  for (std::size_t page = 0; page < kPages; ++page) EXPECT_TRUE(writable(memory_ + page * kPageBytes));
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].as<trace::Kind::HostAccess>().address, address(memory_));
  EXPECT_EQ(records[0].as<trace::Kind::HostAccess>().bytes, kBytes);
  EXPECT_EQ(records[0].as<trace::Kind::HostAccess>().way, trace::AccessWay::Call);
  EXPECT_EQ(records[0].as<trace::Kind::HostAccess>().writes, 0u);
  EXPECT_EQ(records[0].as<trace::Kind::HostAccess>().name_bytes, 5u);
  before_host_call(memory_, kBytes, false, "write", __builtin_frame_address(0));
  EXPECT_TRUE(take_records().empty()) << "reported already";
}

TEST_F(Loans, ASystemCallBesideALoanIsAccessibleAndSilent) {
  lend(address(memory_) + 512, 64, LoanUse::Writes, kStream, false);
  before_host_call(memory_, 512, true, "read", __builtin_frame_address(0));
  EXPECT_TRUE(writable(memory_));
  EXPECT_TRUE(take_records().empty());
  lend_all(LoanUse::Reads, kOther);
  before_host_call(memory_, 512, false, "write", __builtin_frame_address(0));
  EXPECT_TRUE(take_records().empty()) << "both read";
}

TEST_F(Loans, PageableMemoryIsNotGuardedButItsEndIsReported) {
  char* heap = make();
  lend(address(heap), kBytes, LoanUse::Reads, kStream, true);
  EXPECT_TRUE(writable(heap));
  before_host_call(heap, 64, true, "read", __builtin_frame_address(0));
  EXPECT_TRUE(take_records().empty());
  before_host_free(heap, kBytes, trace::HostFreeWay::Unmap, "munmap", __builtin_frame_address(0));
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, trace::Kind::HostFree);
  EXPECT_EQ(records[0].as<trace::Kind::HostFree>().bytes, kBytes);
  EXPECT_FALSE(any_loans());
  lend(address(heap), kBytes, LoanUse::Reads, kStream, true);
  stream_waited_for(kStream);
  before_host_free(heap, kBytes, trace::HostFreeWay::Unmap, "munmap", __builtin_frame_address(0));
  EXPECT_TRUE(take_records().empty());
  munmap(heap, kBytes);
}

TEST_F(Loans, NoTimeNoGuards) {
  testing::test_options().host_guard_cost = 0;
  unsigned guarded = 0;
  for (unsigned i = 0; i < 20'000; ++i) {
    lend_all(LoanUse::Writes);
    guarded += !readable(memory_);
    stream_waited_for(kStream);
  }
  EXPECT_GT(guarded, 0u) << "the first ones are free";
  EXPECT_LT(guarded, 20'000u);
  lend_all(LoanUse::Writes);
  before_host_call(memory_, 1, false, "write", __builtin_frame_address(0));
  EXPECT_EQ(take_records().size(), 1u) << "what costs nothing is still seen";
}

TEST_F(Loans, TimeForGuardsComesBack) {
  testing::test_options().host_guard_cost = 10;
  bool refused = false;
  bool again = false;
  const std::uint64_t deadline = monotonic_ns() + 5 * kNanosecondsPerSecond;
  while (!again && monotonic_ns() < deadline) {
    lend_all(LoanUse::Writes);
    const bool guarded = !readable(memory_);
    stream_waited_for(kStream);
    refused |= !guarded;
    again = refused && guarded;
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(again) << "being refused has cost more than time brings";
}

TEST_F(Loans, AChildTouchesItsCopy) {
  lend_all(LoanUse::Writes);
  const pid_t child = fork();
  if (child == 0) {
    // As a child that ran no fork handlers.
    *static_cast<volatile char*>(memory_) = 1;
    renew_loans();
    _exit(writable(last()) ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(readable(memory_));
}

}  // namespace
}  // namespace streamsan::recorder
