// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/worker.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

namespace streamsan::footprints {
namespace {

constexpr std::uint32_t kLong = 20'000;  // ms; not reached unless something is wrong

/// Its thread never ends, so neither does a worker.
Worker& new_worker() {
  static auto& all = *new std::deque<Worker>;
  return all.emplace_back();
}

/// A job that runs until the test ends it.
struct Held {
  std::atomic<bool> started{false};
  std::atomic<bool> release{false};
  std::atomic<int> runs{0};

  static void job(void* self) {
    auto& held = *static_cast<Held*>(self);
    ++held.runs;
    held.started = true;
    while (!held.release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

void count(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

TEST(Worker, HasNothingToDoAtFirst) {
  Worker& worker = new_worker();
  EXPECT_TRUE(worker.idle());
  EXPECT_TRUE(worker.wait(0));
}

TEST(Worker, TheJobIsDoneWhenRunReturns) {
  Worker& worker = new_worker();
  for (int i = 0; i < 1000; ++i) {
    int value = i;  // no atomic: run() orders the two threads
    ASSERT_TRUE(worker.run([](void* argument) { ++*static_cast<int*>(argument); }, &value, kLong));
    ASSERT_EQ(value, i + 1);
    ASSERT_TRUE(worker.idle());
  }
}

TEST(Worker, JobsRunOnOneThreadOfItsOwnThatTakesNoSignals) {
  struct Seen {
    std::thread::id thread;
    sigset_t blocked;
  };
  const auto look = [](void* argument) {
    auto& seen = *static_cast<Seen*>(argument);
    seen.thread = std::this_thread::get_id();
    pthread_sigmask(SIG_SETMASK, nullptr, &seen.blocked);
  };
  Worker& worker = new_worker();
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  Seen first{}, second{};
  ASSERT_TRUE(worker.run(look, &first, kLong));
  ASSERT_TRUE(worker.run(look, &second, kLong));
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_NE(first.thread, std::this_thread::get_id());
  EXPECT_EQ(first.thread, second.thread);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGPROF, SIGCHLD}) {
    EXPECT_TRUE(sigismember(&first.blocked, signal)) << signal;
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

TEST(Worker, ALateJobRunsOnAndNoOtherIsTaken) {
  Worker& worker = new_worker();
  Held held;
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(worker.run(Held::job, &held, 30));
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(30));
  EXPECT_FALSE(worker.idle());
  std::atomic<int> other{0};
  EXPECT_FALSE(worker.run(count, &other, kLong));
  EXPECT_FALSE(worker.wait(10));
  held.release = true;
  EXPECT_TRUE(worker.wait(kLong));
  EXPECT_TRUE(worker.idle());
  EXPECT_EQ(held.runs, 1);
  EXPECT_EQ(other, 0) << "what was refused is not done later";
  EXPECT_TRUE(worker.run(count, &other, kLong));
  EXPECT_EQ(other, 1);
}

TEST(Worker, RefusesAnotherThreadToo) {
  Worker& worker = new_worker();
  Held held;
  bool done = false;
  std::thread runs([&] { done = worker.run(Held::job, &held, kLong); });
  while (!held.started) std::this_thread::yield();
  std::atomic<int> other{0};
  EXPECT_FALSE(worker.run(count, &other, kLong));
  held.release = true;
  runs.join();
  EXPECT_TRUE(done);
  EXPECT_EQ(other, 0);
}

TEST(Worker, WaitReturnsWhenTheJobEnds) {
  Worker& worker = new_worker();
  Held held;
  EXPECT_FALSE(worker.run(Held::job, &held, 0));
  std::thread releases([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    held.release = true;
  });
  EXPECT_TRUE(worker.wait(kLong));
  EXPECT_EQ(held.runs, 1);
  releases.join();
}

TEST(Worker, AChildStartsAnew) {
  Worker& worker = new_worker();
  Held held;
  EXPECT_FALSE(worker.run(Held::job, &held, 10));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (worker.idle()) _exit(1);  // as the parent left it: a job that never ends here
    worker.forget();
    std::atomic<int> done{0};
    _exit(worker.idle() && worker.run(count, &done, kLong) && done == 1 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  held.release = true;
  EXPECT_TRUE(worker.wait(kLong));
}

}  // namespace
}  // namespace streamsan::footprints
