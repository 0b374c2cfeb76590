// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order between host threads as far as it is seen (host_threads.cpp): each conflict is as grave as joined threads would
// make it, and possible where they would order it and nothing that is seen does.
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class SeenThreads : public ModelTest {
 protected:
  explicit SeenThreads(Options::HostThreads how = Options::HostThreads::Seen) : ModelTest({how}) {}

  /// The moment of the next call; each has its own.
  std::uint64_t tick() {
    model.at(++moment_);
    return moment_;
  }
  std::uint64_t write_by(ThreadId thread, StreamId stream, Address base) {
    const std::uint64_t when = tick();
    model.fill(call(thread), stream, bytes(base), Form::Asynchronous);
    model.returned(thread, true);
    return when;
  }
  std::uint64_t sync_by(ThreadId thread, StreamId stream) {
    const std::uint64_t when = tick();
    model.sync_stream(call(thread), stream);
    model.returned(thread, true);
    return when;
  }
  bool one_passed_on(HazardKind kind) {
    const std::vector<Hazard> hazards = found();
    return hazards.size() == 1 && hazards[0].kind == kind && hazards[0].certainty == Certainty::Possible &&
           hazards[0].perhaps_passed_on;
  }

  const StreamId s = non_blocking();
  const StreamId t = non_blocking();
  const Address a = memory();

 private:
  std::uint64_t moment_ = 0;
};

class StrictThreads : public SeenThreads {
 protected:
  StrictThreads() : SeenThreads(Options::HostThreads::Strict) {}
};

TEST_F(SeenThreads, R_SYN_10_AnErrorIfNobodyHadWaited) {
  write_by(kMain, s, a);
  write_by(kWorker, t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(SeenThreads, R_SYN_10_PossibleIfSomebodyHad) {
  write_by(kMain, s, a);
  sync_by(kMain, s);
  write_by(kWorker, t, a);
  EXPECT_TRUE(one_passed_on(HazardKind::WriteAfterWrite));
  // It is not the writing thread that has to have waited.
  write_by(kMain, s, a + 1024);
  sync_by(ThreadId{3}, s);
  write_by(kWorker, t, a + 1024);
  EXPECT_TRUE(one_passed_on(HazardKind::WriteAfterWrite));
}

TEST_F(SeenThreads, R_SYN_10_NothingIfTheOrderIsSeen) {
  write_by(kMain, s, a);
  const std::uint64_t waited = sync_by(kMain, s);
  model.thread_after(kWorker, kMain, waited);
  write_by(kWorker, t, a);
  EXPECT_TRUE(silent());
}

TEST_F(SeenThreads, R_SYN_10_AHandOverThatCameTooEarlyIsPossible) {
  const std::uint64_t submitted = write_by(kMain, s, a);
  sync_by(kMain, s);
  model.thread_after(kWorker, kMain, submitted);
  write_by(kWorker, t, a);
  EXPECT_TRUE(one_passed_on(HazardKind::WriteAfterWrite));
}

TEST_F(StrictThreads, R_SYN_10_AHandOverThatCameTooEarlyIsAnError) {
  const std::uint64_t submitted = write_by(kMain, s, a);
  sync_by(kMain, s);
  model.thread_after(kWorker, kMain, submitted);
  write_by(kWorker, t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(StrictThreads, R_SYN_10_PossibleIfNoHandOverWasSeen) {
  write_by(kMain, s, a);
  sync_by(kMain, s);
  write_by(kWorker, t, a);
  EXPECT_TRUE(one_passed_on(HazardKind::WriteAfterWrite));
}

TEST_F(StrictThreads, R_SYN_10_PossibleIfAThreadHidesOrder) {
  const std::uint64_t submitted = write_by(kMain, s, a);
  sync_by(kMain, s);
  model.thread_after(kWorker, kMain, submitted);
  model.thread_hides_order(kWorker);
  write_by(kWorker, t, a);
  EXPECT_TRUE(one_passed_on(HazardKind::WriteAfterWrite));
}

TEST_F(SeenThreads, R_SYN_10_LatentAsJoinedThreadsWouldHaveIt) {
  write_by(kWorker, t, memory());  // so there are two threads
  // R-CPY-14: the thread knows of it by an assumed edge only.
  copy(s, pageable(), bytes(a), Form::Asynchronous);
  write_by(kWorker, t, a);
  EXPECT_TRUE(one_latent(HazardKind::WriteAfterRead, Rule::CPY_14));
}

TEST_F(SeenThreads, R_HST_06_WhatJoinedThreadsKnewMayBeSignalled) {
  write_by(kWorker, t, memory());
  copy(s, pageable(), bytes(a), Form::Asynchronous);  // known to the main thread, by assumption
  tick();
  model.host_function(call(kWorker), non_blocking());
  write_by(kWorker, t, a);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_TRUE(hazards[0].perhaps_signalled);
  EXPECT_EQ(hazards[0].certainty, Certainty::Possible);
}

TEST_F(SeenThreads, ManyThreadsShareWhatTheyKnow) {
  write_by(kMain, s, a);
  sync_by(kMain, s);
  for (std::uint32_t i = 2; i <= 64; ++i) sync_by(ThreadId{i}, t);
  write_by(ThreadId{64}, t, a);
  EXPECT_TRUE(one_passed_on(HazardKind::WriteAfterWrite)) << "the 64th has a clock of its own";
  write_by(kMain, s, a + 1024);
  write_by(ThreadId{65}, t, a + 1024);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite)) << "and who shares one, that of thread 2, has all errors";
  // Now thread 3 is the one that has been silent for longest.
  write_by(ThreadId{3}, s, a + 2048);
  sync_by(ThreadId{3}, s);
  for (std::uint32_t i = 4; i <= 65; ++i) sync_by(ThreadId{i}, t);
  sync_by(kMain, t);
  write_by(ThreadId{66}, t, a + 2048);
  EXPECT_TRUE(silent());
}

/// A slot that is used again takes the order of its former stream along. Of many destroyed streams those go first whose
/// work somebody has waited for, so that no error is lost that joined threads would have.
TEST_F(SeenThreads, SlotsAreReusedWithoutLosingErrors) {
  write_by(kWorker, t, memory());
  const Address b = memory();
  const StreamId unknown = non_blocking();
  write_by(kWorker, unknown, b);
  model.destroy_stream(unknown);
  for (int i = 0; i < 100; ++i) {
    const StreamId each = non_blocking();
    write_by(kMain, each, memory());
    sync_by(kMain, each);
    model.destroy_stream(each);
  }
  write_by(kMain, non_blocking(), b);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

}  // namespace
}  // namespace streamsan::ordering::testing
