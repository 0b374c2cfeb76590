// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operations borrow what, how long, and which pages are guarded meanwhile.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "interposer/host/guards.h"
#include "interposer/host/loans.h"
#include "interposer/tests/loans_fixture.h"

namespace streamsan::recorder {
namespace {

TEST_F(Loans, WhatIsWrittenCanBeNeitherReadNorWritten) {
  lend_all(LoanUse::Writes);
  EXPECT_TRUE(any_loans());
  EXPECT_FALSE(readable(memory_));
  EXPECT_FALSE(readable(last()));
  unsigned inside = 0;
  for (std::size_t page = 1; page + 1 < kPages; ++page) inside += !readable(memory_ + page * kPageBytes);
  EXPECT_EQ(inside, 2u);
  stream_waited_for(kStream);
  EXPECT_FALSE(any_loans());
  for (std::size_t page = 0; page < kPages; ++page) EXPECT_TRUE(writable(memory_ + page * kPageBytes));
}

TEST_F(Loans, WhatIsReadCanBeRead) {
  lend_all(LoanUse::Reads);
  EXPECT_TRUE(readable(memory_));
  EXPECT_FALSE(writable(memory_));
  EXPECT_FALSE(writable(last()));
  stream_waited_for(kStream);
  EXPECT_TRUE(writable(memory_));
}

TEST_F(Loans, OnlyItsOwnStreamGivesItBack) {
  lend_all(LoanUse::Writes);
  stream_waited_for(kOther);
  EXPECT_FALSE(readable(memory_));
  stream_waited_for({kStream.handle, 5, 0});
  EXPECT_FALSE(readable(memory_)) << "a special handle of another context";
  stream_waited_for(kStream);
  EXPECT_TRUE(readable(memory_));
}

TEST_F(Loans, TheLegacyStreamWaitsForBlockingStreamsOnly) {
  lend(address(memory_), kPageBytes, LoanUse::Writes, kStream, false);
  lend(address(memory_) + kPageBytes, kPageBytes, LoanUse::Writes, kNonBlocking, false);
  stream_waited_for(kLegacy);
  EXPECT_TRUE(readable(memory_));
  EXPECT_FALSE(readable(memory_ + kPageBytes));
}

TEST_F(Loans, AContextGivesBackWhatItsStreamsUse) {
  lend(address(memory_), kPageBytes, LoanUse::Writes, kStream, false);
  lend(address(memory_) + kPageBytes, kPageBytes, LoanUse::Writes, kNonBlocking, false);
  lend(address(memory_) + 2 * kPageBytes, kPageBytes, LoanUse::Writes, kLegacy, false);
  context_waited_for(kContext + 1);
  EXPECT_FALSE(readable(memory_));
  context_waited_for(kContext);
  for (std::size_t page = 0; page < 3; ++page) EXPECT_TRUE(readable(memory_ + page * kPageBytes));
}

TEST_F(Loans, WaitingForOneDeviceSaysNothingOfTheOther) {
  lend_all(LoanUse::Writes, kElsewhere);
  context_waited_for(kContext);
  stream_waited_for(kLegacy);
  EXPECT_FALSE(readable(memory_));
  context_waited_for(kContext + 1);
  EXPECT_TRUE(readable(memory_));
}

TEST_F(Loans, AnEventGivesBackWhatItHasCaptured) {
  lend(address(memory_), kPageBytes, LoanUse::Writes, kStream, false);
  lend(address(memory_) + 2 * kPageBytes, kPageBytes, LoanUse::Writes, kOther, false);
  event_recorded(100, kStream);
  lend(address(memory_) + kPageBytes, kPageBytes, LoanUse::Writes, kStream, false);
  event_waited_for(99);
  EXPECT_FALSE(readable(memory_)) << "an event never recorded";
  event_waited_for(100);
  EXPECT_TRUE(readable(memory_));
  EXPECT_FALSE(readable(memory_ + kPageBytes)) << "lent after the record";
  EXPECT_FALSE(readable(memory_ + 2 * kPageBytes)) << "lent to another stream";
}

TEST_F(Loans, AnEventIsRecordedAnew) {
  lend_all(LoanUse::Writes);
  event_recorded(100, kStream);
  stream_waited_for(kStream);
  event_recorded(100, kOther);  // while nothing is lent
  lend_all(LoanUse::Writes);
  event_waited_for(100);
  EXPECT_FALSE(readable(memory_));
}

TEST_F(Loans, PagesOfTwoLoansStayGuardedUntilBothAreBack) {
  lend(address(memory_), 64, LoanUse::Reads, kStream, false);
  lend(address(memory_) + 128, 64, LoanUse::Writes, kOther, false);
  EXPECT_FALSE(readable(memory_));
  stream_waited_for(kOther);
  EXPECT_TRUE(readable(memory_));
  EXPECT_FALSE(writable(memory_));
  lend(address(memory_) + 128, 64, LoanUse::Writes, kOther, false);
  stream_waited_for(kStream);
  EXPECT_FALSE(readable(memory_));
  stream_waited_for(kOther);
  EXPECT_TRUE(writable(memory_));
}

TEST_F(Loans, UnknownMemoryIsNotLent) {
  char* device = make();
  lend(address(device), kBytes, LoanUse::Writes, kStream, false);
  const std::uint64_t pointer = trace::pointer_word(0, address(device));
  lend_from(&pointer, 1, kStream);
  EXPECT_FALSE(any_loans());
  munmap(device, kBytes);
}

TEST_F(Loans, AKernelMayReachFromItsPointerToTheEnd) {
  const std::uint64_t pointer = trace::pointer_word(0, address(memory_) + 4 * kPageBytes);
  lend_from(&pointer, 1, kStream);
  EXPECT_TRUE(readable(memory_));
  EXPECT_FALSE(readable(memory_ + 4 * kPageBytes));
  EXPECT_FALSE(readable(last()));
}

TEST_F(Loans, OfAListEachPointerIsLentFrom) {
  char* other = make();
  host_memory_given(MemoryKind::Pinned, address(other), kBytes);
  constexpr std::uint64_t kFar = 0x7000'0000'0000;  // nothing of the host's is near
  const std::uint64_t pointers[] = {
      trace::pointer_word(0, kFar),
      trace::pointer_word(1, kFar + 8, true),
      trace::pointer_word(2, address(memory_) + 4 * kPageBytes),
      trace::pointer_word(3, kFar),
      trace::pointer_word(4, address(other) + kPageBytes, true),
  };
  lend_from(pointers, 5, kStream);
  EXPECT_TRUE(readable(memory_));
  EXPECT_FALSE(readable(memory_ + 4 * kPageBytes));
  EXPECT_TRUE(readable(other));
  EXPECT_FALSE(readable(other + kPageBytes));
  stream_waited_for(kStream);
  host_memory_going(address(other));
  munmap(other, kBytes);
}

TEST_F(Loans, MemoryThatGoesIsFree) {
  lend_all(LoanUse::Writes);
  host_memory_going(address(memory_));
  EXPECT_TRUE(writable(memory_));
  EXPECT_FALSE(any_loans());
  lend_all(LoanUse::Writes);
  EXPECT_FALSE(any_loans()) << "it is not known any more";
}

TEST_F(Loans, TheProgramsOwnProtectionIsItsOwn) {
  lend_all(LoanUse::Writes);
  guard_no_more(address(memory_) + kPageBytes, kPageBytes);
  EXPECT_TRUE(writable(memory_));
  lend_all(LoanUse::Writes);
  EXPECT_TRUE(writable(memory_)) << "no guard any more";
}

TEST_F(Loans, OnlyWholePagesOfRegisteredMemory) {
  char* heap = make();
  host_memory_given(MemoryKind::Registered, address(heap) + 100, 2 * kPageBytes);
  lend(address(heap) + 100, 2 * kPageBytes, LoanUse::Writes, kStream, false);
  EXPECT_TRUE(readable(heap));
  EXPECT_FALSE(readable(heap + kPageBytes));
  EXPECT_TRUE(readable(heap + 2 * kPageBytes));
  renew_loans();
  mprotect(heap, kPageBytes, PROT_READ);
  host_memory_given(MemoryKind::Registered, address(heap), kBytes);
  lend(address(heap), kBytes, LoanUse::Writes, kStream, false);
  EXPECT_TRUE(readable(last()) && readable(heap + kBytes - 1)) << "not plain memory: left alone";
  munmap(heap, kBytes);
}

TEST_F(Loans, AFullTableForgetsTheOldest) {
  for (unsigned i = 0; i < 400; ++i) lend(address(memory_) + 8 * i, 4, LoanUse::Reads, kStream, false);
  lend(address(last()), 1, LoanUse::Writes, kOther, false);
  EXPECT_FALSE(readable(last()));
  stream_waited_for(kStream);
  stream_waited_for(kOther);
  EXPECT_FALSE(any_loans());
  EXPECT_TRUE(writable(memory_) && writable(last()));
}

TEST_F(Loans, OptionsTurnItOff) {
  testing::test_options().host_guard = 0;
  lend_all(LoanUse::Writes);
  EXPECT_TRUE(readable(memory_));
  testing::test_options().host_frees = 0;
  char heap[64];
  renew_loans();
  lend(address(heap), sizeof heap, LoanUse::Reads, kStream, true);
  EXPECT_FALSE(any_loans());
}

TEST_F(Loans, ManyThreads) {
  use_by_many_threads();
  EXPECT_FALSE(any_loans());
}

}  // namespace
}  // namespace streamsan::recorder
