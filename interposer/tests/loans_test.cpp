// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loans and guards on real pages. Whether a page is accessible is asked of the kernel, which answers with EFAULT;
// touches fault for real.
#include "interposer/host/loans.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "interposer/host/guards.h"
#include "interposer/process.h"
#include "interposer/tests/options_stub.h"
#include "interposer/tests/recorder_stub.h"

namespace streamsan::recorder {
namespace {

using ordering::MemoryKind;
using testing::take_records;

constexpr std::size_t kPages = 64;
constexpr std::size_t kBytes = kPages * kPageBytes;
constexpr StreamArgument kStream{16, 0, 0};
constexpr StreamArgument kOther{32, 0, 0};
constexpr StreamArgument kNonBlocking{17, 0, 0};
constexpr StreamArgument kLegacy{trace::kLegacyStream, 7, 0};

bool readable(const void* at) {
  char byte;
  const iovec here{&byte, 1};
  const iovec there{const_cast<void*>(at), 1};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

bool writable(void* at) {
  char byte = 0;
  const iovec here{&byte, 1};
  const iovec there{at, 1};
  return process_vm_writev(getpid(), &here, 1, &there, 1, 0) == 1;
}

// Touches by libc's code: our own is in the recorder as far as the handler knows, and not told.
void* (*volatile g_set)(void*, int, std::size_t) = std::memset;
int (*volatile g_compare)(const void*, const void*, std::size_t) = std::memcmp;
void write_at(char* at) { g_set(at, 3, 1); }
void read_at(const char* at) {
  const char zero = 0;
  static_cast<void>(g_compare(at, &zero, 1));
}

class Loans : public ::testing::Test {
 protected:
  Loans() {
    testing::test_options().host_guard = testing::test_options().host_frees = 1;
    testing::test_options().host_guard_cost = 100;
    testing::test_options().syncs = 0;
    t_thread.calls = 1;
    t_thread.number = 1;
    memory_ = make();
    host_memory_given(MemoryKind::Pinned, address(memory_), kBytes);
    take_records();
  }
  ~Loans() override {
    forget_loans();
    munmap(memory_, kBytes);
  }

  static char* make() {
    return static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0));
  }
  static std::uint64_t address(const void* at) { return reinterpret_cast<std::uint64_t>(at); }
  [[nodiscard]] char* last() const { return memory_ + kBytes - 1; }
  void lend_all(LoanUse use, StreamArgument stream = kStream) { lend(address(memory_), kBytes, use, stream, false); }
  void use_by_many_threads() {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        const StreamArgument stream{1000 + 2 * t, 0, 0};
        for (unsigned i = 0; i < 2000; ++i) {
          // Neighbours share pages.
          char* mine = memory_ + t * 2048;
          lend(address(mine), 2048, i % 2 ? LoanUse::Writes : LoanUse::Reads, stream, false);
          if (i % 3 == 0) *static_cast<volatile char*>(mine) = static_cast<char>(i);
          event_recorded(5000 + t, stream);
          if (i % 5 == 0) before_host_call(mine, 2048, true, "read", __builtin_frame_address(0));
          i % 7 ? event_waited_for(5000 + t) : stream_waited_for(stream);
          *static_cast<volatile char*>(mine + 2047) = 1;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    if (!options().syncs) {
      for (std::size_t page = 0; page < kPages; ++page) EXPECT_TRUE(writable(memory_ + page * kPageBytes));
    }
  }

  char* memory_;
};

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

TEST_F(Loans, ATouchIsRecordedOnceAndGoesOn) {
  lend_all(LoanUse::Writes);
  write_at(memory_ + 40);
  EXPECT_EQ(memory_[40], 3);
  write_at(last());
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, trace::Kind::HostAccess);
  EXPECT_EQ(records[0].w[0], address(memory_ + 40));
  EXPECT_EQ(records[0].w[1], 1u);
  EXPECT_EQ(records[0].w[2], static_cast<std::uint64_t>(trace::AccessWay::Instruction));
  EXPECT_EQ(records[0].w[3], 1u);
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
  EXPECT_EQ(records[0].w[0], address(memory_));
  EXPECT_EQ(records[0].w[1], kBytes);
  EXPECT_EQ(records[0].w[2], static_cast<std::uint64_t>(trace::AccessWay::Call));
  EXPECT_EQ(records[0].w[3], 0u);
  EXPECT_EQ(records[0].w[4], 5u);
  before_host_call(memory_, kBytes, false, "write", __builtin_frame_address(0));
  EXPECT_TRUE(take_records().empty()) << "told already";
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

TEST_F(Loans, PageableMemoryIsNotGuardedButItsEndIsTold) {
  char* heap = make();
  lend(address(heap), kBytes, LoanUse::Reads, kStream, true);
  EXPECT_TRUE(writable(heap));
  before_host_call(heap, 64, true, "read", __builtin_frame_address(0));
  EXPECT_TRUE(take_records().empty());
  before_host_free(heap, kBytes, trace::HostFreeWay::Unmap, "munmap", __builtin_frame_address(0));
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, trace::Kind::HostFree);
  EXPECT_EQ(records[0].w[1], kBytes);
  EXPECT_FALSE(any_loans());
  lend(address(heap), kBytes, LoanUse::Reads, kStream, true);
  stream_waited_for(kStream);
  before_host_free(heap, kBytes, trace::HostFreeWay::Unmap, "munmap", __builtin_frame_address(0));
  EXPECT_TRUE(take_records().empty());
  munmap(heap, kBytes);
}

TEST_F(Loans, UnknownMemoryIsNotLent) {
  char* device = make();
  lend(address(device), kBytes, LoanUse::Writes, kStream, false);
  lend_from(address(device), kStream);
  EXPECT_FALSE(any_loans());
  munmap(device, kBytes);
}

TEST_F(Loans, AKernelMayReachFromItsPointerToTheEnd) {
  lend_from(address(memory_) + 4 * kPageBytes, kStream);
  EXPECT_TRUE(readable(memory_));
  EXPECT_FALSE(readable(memory_ + 4 * kPageBytes));
  EXPECT_FALSE(readable(last()));
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
  forget_loans();
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
  start_guard_time();
}

TEST_F(Loans, OptionsTurnItOff) {
  testing::test_options().host_guard = 0;
  lend_all(LoanUse::Writes);
  EXPECT_TRUE(readable(memory_));
  testing::test_options().host_frees = 0;
  char heap[64];
  forget_loans();
  lend(address(heap), sizeof heap, LoanUse::Reads, kStream, true);
  EXPECT_FALSE(any_loans());
}

TEST_F(Loans, AChildTouchesItsCopy) {
  lend_all(LoanUse::Writes);
  const pid_t child = fork();
  if (child == 0) {
    // As a child that ran no fork handlers.
    *static_cast<volatile char*>(memory_) = 1;
    forget_loans();
    _exit(writable(last()) ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(readable(memory_));
}

// ---- settled loans

constexpr Operation kFirst{.position = 11, .touches_all = true};
constexpr Operation kSecond{.position = 22, .touches_all = true};

class SettledLoans : public Loans {
 protected:
  SettledLoans() { testing::test_options().syncs = 1; }
  ~SettledLoans() override {
    forget_loans();
    testing::test_options().syncs = 0;
  }
  void lend_few(LoanUse use, Operation operation = kFirst, StreamArgument stream = kStream) {
    lend(address(memory_) + 16, 3 * kPageBytes, use, stream, false, operation);
  }
  void settle(LoanUse use) {
    lend_few(use);
    stream_waited_for(kStream);
  }
  /// The only record is that the memory was idle.
  void expect_idle(const Operation& operation, bool until_touched = false) {
    const auto records = take_records();
    ASSERT_EQ(records.size(), 1u);
    expect_idle(records[0], operation, until_touched);
  }
  void expect_idle(const testing::KeptRecord& record, const Operation& operation, bool until_touched) {
    EXPECT_EQ(record.kind, trace::Kind::HostIdle);
    EXPECT_EQ(record.w[0], address(memory_) + 16);
    EXPECT_EQ(record.w[1], 3 * kPageBytes);
    EXPECT_EQ(record.w[2], operation.position);
    EXPECT_EQ(record.w[3], until_touched ? 1u : 0u);
  }
  void expect_silence() { EXPECT_TRUE(take_records().empty()); }
};

TEST_F(SettledLoans, StayGuardedUntilTheFirstTouch) {
  settle(LoanUse::Writes);
  for (std::size_t page = 0; page < 4; ++page) EXPECT_FALSE(readable(memory_ + page * kPageBytes));
  read_at(memory_ + 40);
  const auto records = take_records();
  ASSERT_EQ(records.size(), 2u);
  expect_idle(records[0], kFirst, true);
  EXPECT_EQ(records[1].kind, trace::Kind::HostAccess);
  EXPECT_EQ(records[1].w[0], address(memory_ + 40));
  EXPECT_EQ(records[1].w[3], 0u);
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
  EXPECT_EQ(records[1].w[3], 1u);
}

TEST_F(SettledLoans, EventsAndContextsSettleToo) {
  lend_few(LoanUse::Writes);
  event_recorded(100, kStream);
  event_waited_for(100);
  EXPECT_FALSE(readable(memory_));
  end_loans_with_process();
  expect_idle(kFirst);
  lend_few(LoanUse::Writes);
  all_waited_for();
  EXPECT_FALSE(readable(memory_));
  all_waited_for();
  end_loans_with_process();
  expect_idle(kFirst);
}

TEST_F(SettledLoans, ACallOfLibcIsATouch) {
  settle(LoanUse::Writes);
  before_host_call(memory_ + kPageBytes, 10, false, "write", __builtin_frame_address(0));
  const auto records = take_records();
  ASSERT_EQ(records.size(), 2u);
  expect_idle(records[0], kFirst, true);
  EXPECT_EQ(records[1].w[2], static_cast<std::uint64_t>(trace::AccessWay::Call));
  for (std::size_t page = 0; page < 4; ++page) EXPECT_TRUE(writable(memory_ + page * kPageBytes));
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
  lend_from(address(memory_) + kBytes - kPageBytes, kStream, 7);
  stream_waited_for(kStream);
  lend_from(address(memory_) + kBytes - kPageBytes, kStream, 8);
  expect_silence();
  stream_waited_for(kStream);
  end_loans_with_process();
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].w[2], 8u);
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

TEST_F(SettledLoans, ATouchBeforeTheWaitIsTheFirst) {
  lend_few(LoanUse::Writes);
  read_at(memory_ + 40);
  const auto records = take_records();
  ASSERT_EQ(records.size(), 2u);
  expect_idle(records[0], kFirst, true);
  stream_waited_for(kStream);
  EXPECT_FALSE(any_loans());
}

TEST_F(SettledLoans, OnlyThreadsThatTheJudgeBelievesSayWhatWasIdle) {
  settle(LoanUse::Writes);
  std::thread([&] { read_at(memory_ + 40); }).join();
  const auto records = take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, trace::Kind::HostAccess);
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
  for (const auto& record : take_records()) EXPECT_NE(record.w[2], kFirst.position);
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
  start_guard_time();
}

TEST_F(SettledLoans, AChildTouchesItsCopyOfThem) {
  settle(LoanUse::Writes);
  const pid_t child = fork();
  if (child == 0) {
    *static_cast<volatile char*>(memory_) = 1;
    forget_loans();
    _exit(writable(memory_ + 3 * kPageBytes) ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(readable(memory_));
}

TEST_F(Loans, ManyThreads) {
  use_by_many_threads();
  EXPECT_FALSE(any_loans());
}

TEST_F(SettledLoans, ManyThreads) {
  use_by_many_threads();
  end_loans_with_process();
  EXPECT_FALSE(any_loans());
  for (std::size_t page = 0; page < kPages; ++page) EXPECT_TRUE(writable(memory_ + page * kPageBytes));
}

}  // namespace
}  // namespace streamsan::recorder
