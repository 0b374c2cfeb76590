// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// There is one gate in a process: every test leaves it open and empty.
#include "interposer/gate.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "interposer/fork.h"
#include "interposer/observers/gates.h"

namespace streamsan::recorder {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint32_t kLong = 20'000;  // ms; not reached unless something is wrong

/// Comes true soon, or never.
template <typename Condition>
bool becomes(Condition condition) {
  for (const auto end = Clock::now() + milliseconds(kLong); Clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

TEST(Gate, OpenItLetsAnyNumberIn) {
  Gate::enter();
  std::thread other([] {
    Gate::enter();
    Gate::leave();
  });
  other.join();
  Gate::leave();
}

TEST(Gate, OneHasItAtATime) {
  ASSERT_TRUE(Gate::close(kLong));
  bool other = true;
  std::thread([&] { other = Gate::close(0); }).join();
  EXPECT_FALSE(other);
  // The refusal has not opened it.
  std::atomic<bool> inside{false};
  std::thread enters([&] {
    Gate::enter();
    inside = true;
    Gate::leave();
  });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(inside);
  Gate::open();
  enters.join();
  EXPECT_TRUE(inside);
  EXPECT_TRUE(Gate::close(kLong));
  Gate::open();
}

TEST(Gate, WaitsForThoseInside) {
  std::atomic<bool> entered{false};
  std::atomic<bool> left{false};
  std::thread inside([&] {
    Gate::enter();
    entered = true;
    std::this_thread::sleep_for(milliseconds(50));
    left = true;
    Gate::leave();
  });
  ASSERT_TRUE(becomes([&] { return entered.load(); }));
  EXPECT_TRUE(Gate::close(kLong));
  EXPECT_TRUE(left);
  Gate::open();
  inside.join();
}

TEST(Gate, GivesUpWhenSomebodyStaysInside) {
  Gate::enter();
  const auto before = Clock::now();
  bool closed = true;
  std::thread([&] { closed = Gate::close(30); }).join();
  EXPECT_FALSE(closed);
  EXPECT_GE(Clock::now() - before, milliseconds(29));
  // It is open again.
  std::thread([] {
    Gate::enter();
    Gate::leave();
  }).join();
  Gate::leave();
  EXPECT_TRUE(Gate::close(kLong));
  Gate::open();
}

TEST(Gate, WhoWaitsGoesOnWhenTheAttemptIsGivenUp) {
  Gate::enter();
  std::atomic<bool> returned{false};
  bool closed = true;
  std::thread closes([&] {
    closed = Gate::close(200);
    returned = true;
  });
  std::this_thread::sleep_for(milliseconds(20));
  std::thread enters([] {
    Gate::enter();
    Gate::leave();
  });
  enters.join();  // at once, or after the attempt; not only when we leave
  closes.join();
  EXPECT_FALSE(closed);
  Gate::leave();
}

TEST(Gate, AllWhoWaitGoOnWhenItOpens) {
  ASSERT_TRUE(Gate::close(kLong));
  std::atomic<int> inside{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      Gate::enter();
      ++inside;
      Gate::leave();
    });
  }
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_EQ(inside, 0);
  Gate::open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(inside, 8);
}

TEST(Gate, NobodyIsInsideWhileItIsClosed) {
  constexpr int kRounds = 1000;
  constexpr int kThreads = 4;
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0};
  std::atomic<int> owners{0};
  std::atomic<int> broken{0};
  std::atomic<int> rounds{0};
  std::atomic<long> entered[kThreads] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      while (!stop) {
        Gate::enter();
        ++inside;
        if (owners != 0) ++broken;
        --inside;
        Gate::leave();
        ++entered[i];
        if (entered[i] % 16 == 0) std::this_thread::yield();
      }
    });
  }
  // Two that want to have it, as two threads may want to measure.
  std::vector<std::thread> closers;
  for (int i = 0; i < 2; ++i) {
    closers.emplace_back([&] {
      while (rounds < kRounds) {
        if (!Gate::close(kLong)) {
          std::this_thread::yield();
          continue;
        }
        if (owners.fetch_add(1) != 0) ++broken;
        for (int look = 0; look < 20; ++look) {
          if (inside != 0) ++broken;
          if (look % 8 == 0) std::this_thread::yield();
        }
        --owners;
        ++rounds;
        Gate::open();
      }
    });
  }
  for (std::thread& closer : closers) closer.join();
  long after[kThreads];
  for (int i = 0; i < kThreads; ++i) after[i] = entered[i];
  for (int i = 0; i < kThreads; ++i) EXPECT_TRUE(becomes([&] { return entered[i] > after[i]; })) << i << " is stuck";
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken, 0);
  EXPECT_GE(rounds, kRounds);
}

/// A thread that is cancelled at the points it says.
struct Cancelled {
  std::atomic<int> at{0};  // where it got to
  std::atomic<bool> go_on{false};
  bool closes = true;         // the gate, successfully; else it is refused
  bool was_immune = false;    // it had switched cancellation off itself
  bool immune_after = false;  // what it found when the gate was open again
};

/// Of the calling thread; returns whether it was before.
bool set_immune(bool immune) {
  int before;
  pthread_setcancelstate(immune ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE, &before);
  return before == PTHREAD_CANCEL_DISABLE;
}

/// Has no variables in memory: AddressSanitizer does not learn that a cancelled thread leaves them.
void* close_and_open(void* data) {
  auto& self = *static_cast<Cancelled*>(data);
  set_immune(self.was_immune);
  const bool closed = Gate::close(self.closes ? kLong : 0);
  self.at = closed ? 1 : -1;
  while (!self.go_on) std::this_thread::yield();
  if (closed) {
    pthread_testcancel();  // as some call of a measurement may do
    self.at = 2;
    Gate::open();
  }
  self.immune_after = set_immune(true);
  set_immune(self.immune_after);
  pthread_testcancel();
  self.at = 3;
  return nullptr;
}

/// Runs it, and cancels it between the closing and the opening. True: it came to its end.
bool survives(Cancelled& self) {
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, nullptr, close_and_open, &self), 0);
  EXPECT_TRUE(becomes([&] { return self.at != 0; }));
  EXPECT_EQ(pthread_cancel(thread), 0);
  self.go_on = true;
  void* result = nullptr;
  EXPECT_EQ(pthread_join(thread, &result), 0);
  return result != PTHREAD_CANCELED;
}

TEST(Gate, WhoHasItIsCancelledOnlyWhenItIsOpen) {
  Cancelled thread;
  EXPECT_FALSE(survives(thread));
  EXPECT_EQ(thread.at, 2) << "not before it has opened it, and not later than that";
  EXPECT_FALSE(thread.immune_after);
  EXPECT_TRUE(Gate::close(kLong));
  Gate::open();
}

TEST(Gate, WhoCouldNotBeCancelledCannotBeAfterwards) {
  Cancelled thread;
  thread.was_immune = true;
  EXPECT_TRUE(survives(thread));
  EXPECT_EQ(thread.at, 3);
  EXPECT_TRUE(thread.immune_after);
}

TEST(Gate, WhoIsRefusedCanBeCancelled) {
  {  // somebody else has it
    ASSERT_TRUE(Gate::close(kLong));
    Cancelled thread;
    thread.closes = false;
    EXPECT_FALSE(survives(thread));
    EXPECT_EQ(thread.at, -1);
    EXPECT_FALSE(thread.immune_after);
    Gate::open();
  }
  {  // somebody is inside and stays there
    Gate::enter();
    Cancelled thread;
    thread.closes = false;
    EXPECT_FALSE(survives(thread));
    EXPECT_EQ(thread.at, -1);
    EXPECT_FALSE(thread.immune_after);
    Gate::leave();
  }
}

TEST(Gate, ForgetsThoseWhoAreGone) {
  Gate::enter();
  in_child::gate();  // as in a child, where nobody will ever leave
  EXPECT_TRUE(Gate::close(kLong));
  in_child::gate();
  Gate::enter();
  Gate::leave();
  EXPECT_TRUE(Gate::close(kLong));
  Gate::open();
}

TEST(Gate, EverythingThatNeedsTheCodeOfKernelsPassesIt) {
  using Row = api::Index;
  for (const auto row :
       {Row::cuGraphLaunch, Row::cuGraphLaunch_ptsz, Row::cuGraphUpload, Row::cuGraphInstantiateWithFlags,
        Row::cuGraphInstantiateWithParams_ptsz, Row::cuGraphExecUpdate_v2, Row::cuGraphExecKernelNodeSetParams_v2,
        Row::cuLaunch, Row::cuLaunchGrid, Row::cuLaunchGridAsync, Row::cuLaunchCooperativeKernelMultiDevice}) {
    EXPECT_TRUE(needs_code(api::kRows[row])) << api::kRows[row].symbol;
  }
  // A measured kernel may wait for what these do.
  for (const auto row : {Row::cuStreamWriteValue32_v2, Row::cuMemcpyAsync, Row::cuEventRecord, Row::cuLaunchHostFunc}) {
    EXPECT_FALSE(needs_code(api::kRows[row])) << api::kRows[row].symbol;
  }
}

}  // namespace
}  // namespace streamsan::recorder
