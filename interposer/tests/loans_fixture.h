// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loans and guards on real pages. Whether a page is accessible is asked of the kernel, which answers with EFAULT;
// touches fault for real.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "interposer/fork.h"
#include "interposer/host/guards.h"
#include "interposer/host/loans.h"
#include "interposer/process.h"
#include "interposer/tests/options_stub.h"
#include "interposer/tests/recorder_stub.h"

namespace streamsan::recorder {

using ordering::MemoryKind;
using testing::take_records;

inline constexpr std::size_t kPages = 64;
inline const std::size_t kPageBytes = page_bytes();
inline const std::size_t kBytes = kPages * kPageBytes;
inline constexpr StreamArgument kStream{16, 0, 0};
inline constexpr StreamArgument kOther{32, 0, 0};
inline constexpr StreamArgument kNonBlocking{17, 0, 0};
inline constexpr StreamArgument kLegacy{trace::kLegacyStream, 7, 0};
inline constexpr std::uint64_t kContext = 7;
inline constexpr StreamArgument kElsewhere{4096, 0, 0};  // a stream of another device

/// As in the child of a fork: nothing is lent, nothing is protected.
inline void renew_loans() {
  in_child::loans();
  in_child::loan_table();
  in_child::host_memory();
}

/// A pipe that one byte goes through: the kernel reads or writes the memory, and says whether it can.
class Probe {
 public:
  Probe() { made_ = pipe(ends_) == 0; }
  ~Probe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  bool can_read(const void* at) { return made_ && write(ends_[1], at, 1) == 1; }
  bool can_write(void* at) { return can_read("") && read(ends_[0], at, 1) == 1; }

 private:
  int ends_[2] = {-1, -1};
  bool made_ = false;
};

inline bool readable(const void* at) { return Probe().can_read(at); }
inline bool writable(void* at) { return Probe().can_write(at); }

// Touches by libc's code: for the handler our own code is in the recorder, and is not reported.
inline void* (*volatile g_set)(void*, int, std::size_t) = std::memset;
inline int (*volatile g_compare)(const void*, const void*, std::size_t) = std::memcmp;
inline void write_at(char* at) { g_set(at, 3, 1); }
inline void read_at(const char* at) {
  const char zero = 0;
  static_cast<void>(g_compare(at, &zero, 1));
}

class Loans : public ::testing::Test {
 protected:
  Loans() {
    testing::test_options().host_guard = testing::test_options().host_frees = 1;
    testing::test_options().host_guard_cost = 100;
    testing::test_options().syncs = 0;
    start_guard_time();
    t_thread.calls = 1;
    t_thread.number = 1;
    memory_ = make();
    host_memory_given(MemoryKind::Pinned, address(memory_), kBytes);
    take_records();
  }
  ~Loans() override {
    renew_loans();
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

inline constexpr Operation kFirst{.position = 11, .touches_all = true};
inline constexpr Operation kSecond{.position = 22, .touches_all = true};

class SettledLoans : public Loans {
 protected:
  SettledLoans() { testing::test_options().syncs = 1; }
  ~SettledLoans() override {
    renew_loans();
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
    EXPECT_EQ(record.as<trace::Kind::HostIdle>().address, address(memory_) + 16);
    EXPECT_EQ(record.as<trace::Kind::HostIdle>().bytes, 3 * kPageBytes);
    EXPECT_EQ(record.as<trace::Kind::HostIdle>().position, operation.position);
    EXPECT_EQ(record.as<trace::Kind::HostIdle>().until_touched, until_touched ? 1u : 0u);
  }
  void expect_silence() { EXPECT_TRUE(take_records().empty()); }
};

}  // namespace streamsan::recorder
