// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-LCH-02 to R-LCH-04: kernels that overlap the one in front of them, and events that launches record.
#include "ordering/dependents.h"

#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

constexpr Dependence kWaits{.overlaps = true, .waits = true, .front = Trigger::Early, .front_waits_first = false};
constexpr Dependence kNeverWaits{.overlaps = true, .waits = false, .front = Trigger::Early, .front_waits_first = false};

class Dependents : public ModelTest {
 protected:
  Address a = memory();
  Address b = memory();
  StreamId s = non_blocking();
  StreamId t = non_blocking();
  EventId event = model.create_event(EventTiming::Off);

  OpId use(AccessMode mode, Address base, const Dependence& dependence, bool early, StreamId stream) {
    const KernelBytes touched{.bytes = bytes(base), .mode = mode, .early = early};
    return model.launch(call(), stream, {.function = FunctionId{1}, .dependence = dependence}, {}, {&touched, 1});
  }
  OpId writes(Address base, const Dependence& dependence = {}, bool early = false) {
    return use(AccessMode::Write, base, dependence, early, s);
  }
  OpId reads(Address base, const Dependence& dependence = {}, bool early = false) {
    return use(AccessMode::Read, base, dependence, early, s);
  }
  static Dependence behind(Trigger trigger) {
    return {.overlaps = true, .waits = true, .front = trigger, .front_waits_first = true};
  }
  DependentUse how() {
    const std::vector<Hazard> hazards = found();
    EXPECT_EQ(hazards.size(), 1u);
    if (hazards.empty()) return {};
    EXPECT_EQ(hazards[0].explanation.nearest, NearestEdge::DependentLaunch);
    return hazards[0].explanation.use;
  }
};

TEST_F(Dependents, LCH_02_ReadsBeforeItWaits) {
  writes(a);
  reads(a, kWaits, true);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}
TEST_F(Dependents, LCH_02_ReadsBehindItsWait) {
  writes(a);
  reads(a, kWaits);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02_OverwritesBeforeItWaits) {
  reads(a);
  writes(a, kWaits, true);
  EXPECT_EQ(how(), DependentUse::BeforeWait);
}
TEST_F(Dependents, LCH_02_NeverWaits) {
  writes(a);
  reads(a, kNeverWaits);
  EXPECT_EQ(how(), DependentUse::NeverWaits);
}
TEST_F(Dependents, LCH_02_NeverWaitsAndUsesOtherMemory) {
  writes(a);
  reads(b, kNeverWaits);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02_WithoutTheAttribute) {
  writes(a);
  reads(a, {}, true);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02_OfOneKernelNothingRaces) {
  writes(b);
  const KernelBytes both[] = {{.bytes = bytes(a), .mode = AccessMode::Write, .early = true},
                              {.bytes = bytes(a), .mode = AccessMode::Read, .early = true}};
  model.launch(call(), s, {.function = FunctionId{1}, .dependence = kWaits}, {}, both);
  EXPECT_TRUE(silent());
}

TEST_F(Dependents, LCH_02a_NeverTriggers) {
  writes(a);
  reads(a, behind(Trigger::Never), true);
  EXPECT_TRUE(one_latent(HazardKind::ReadAfterWrite, Rule::LCH_02a));
}
TEST_F(Dependents, LCH_02b_TriggersAtItsEnd) {
  writes(a);
  reads(a, behind(Trigger::Last), true);
  EXPECT_TRUE(one_latent(HazardKind::ReadAfterWrite, Rule::LCH_02b));
}
TEST_F(Dependents, LCH_02b_TriggersBehindAFence) {
  writes(a);
  reads(a, behind(Trigger::Published), true);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02_CodeOfTheFrontIsNotKnown) {
  writes(a);
  reads(a, behind(Trigger::Unknown), true);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].certainty, Certainty::Possible);
}

// The chain A, B, C.
TEST_F(Dependents, LCH_02d_TheOneBetweenDidNotWait) {
  const OpId first = writes(a);
  const OpId between = writes(b, kNeverWaits);
  EXPECT_TRUE(silent());
  reads(a, kWaits);
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].earlier.op, first);
  EXPECT_EQ(hazards[0].explanation.use, DependentUse::AfterWait);
  EXPECT_EQ(hazards[0].explanation.record, between);
}
TEST_F(Dependents, LCH_02d_TheOneBetweenWaited) {
  writes(a);
  writes(b, kWaits);
  reads(a, kWaits);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02d_ItWaitedAfterItsTrigger) {
  writes(a);
  writes(b, kWaits);
  reads(a, kWaits, true);  // the kernel in front triggers before it waits
  EXPECT_EQ(how(), DependentUse::BeforeWait);
}
TEST_F(Dependents, LCH_02d_ItWaitedBeforeItsTrigger) {
  writes(a);
  writes(b, kWaits);
  reads(a, behind(Trigger::Early), true);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02d_AnEarlierConflictHidesNothing) {
  writes(a);
  writes(a, kNeverWaits);
  EXPECT_EQ(how(), DependentUse::NeverWaits);
  reads(a, kWaits);  // waits for the second, and not for the first
  EXPECT_EQ(how(), DependentUse::AfterWait);
}

// What is put between, or behind.
TEST_F(Dependents, LCH_02f_BehindACopy) {
  writes(a);
  copy(s, array(), bytes(b), Form::Asynchronous);
  reads(a, kWaits, true);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02f_BehindAWait) {
  writes(a);
  edge(s, s);
  reads(a, kWaits, true);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02g_BehindRecords) {
  writes(a);
  model.record_event(call(), s, event);
  model.record_event(call(), s, event);
  reads(a, kWaits, true);
  EXPECT_EQ(how(), DependentUse::BeforeWait);
}
TEST_F(Dependents, LCH_02g_BehindARecordWithTiming) {
  writes(a);
  model.record_event(call(), s, event);
  model.record_event(call(), s, model.create_event());
  reads(a, kWaits, true);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02g_BehindARecordBehindTheWait) {
  writes(a);
  model.record_event(call(), s, event);
  reads(a, kWaits);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02g_ARecordBehindACopy) {
  writes(a);
  copy(s, array(), bytes(b), Form::Asynchronous);
  model.record_event(call(), s, event);
  reads(a, kWaits, true);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02g_TheRecordComesAfterTheLegacyStream) {
  s = blocking();
  writes(a);
  model.fill(call(), legacy(), bytes(b), Form::Asynchronous);
  model.returned(kMain, true);
  model.record_event(call(), s, event);
  reads(a, kNeverWaits);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, R_EVT_04_AnEmptyWaitBetween) {
  writes(a);
  model.wait_event(call(), s, event);
  reads(a, kNeverWaits);
  EXPECT_EQ(how(), DependentUse::NeverWaits);
}
TEST_F(Dependents, R_EVT_04_AWaitForARecordBetween) {
  model.record_event(call(), t, event);
  writes(a);
  model.wait_event(call(), s, event);
  reads(a, kNeverWaits);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02_TheHostHasWaited) {
  writes(a);
  sync_stream(s);
  reads(a, kNeverWaits);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02_TheLegacyStreamIsBetween) {
  s = blocking();
  writes(a);
  model.fill(call(), legacy(), bytes(b), Form::Asynchronous);
  model.returned(kMain, true);
  reads(a, kNeverWaits);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02e_AnEventBehindCoversBoth) {
  writes(a);
  writes(b, kNeverWaits);
  edge(s, t);
  use(AccessMode::Read, a, {}, false, t);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02e_APlainKernelCoversBoth) {
  writes(a);
  writes(b, kNeverWaits);
  reads(a);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02_OtherStreamsCountAsBefore) {
  use(AccessMode::Write, a, {}, false, t);
  edge(t, s);
  writes(b);
  reads(a, kNeverWaits);
  EXPECT_TRUE(silent());
}
TEST_F(Dependents, LCH_02_OtherStreamsRaceAsBefore) {
  use(AccessMode::Write, a, {}, false, t);
  writes(b);
  reads(a, kNeverWaits);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Dependents, SetsStayBounded) {
  Chain chain;
  chain.plain({.epoch = 1});
  for (Epoch epoch = 2; epoch < 3 * Chain::kMost; ++epoch) chain.dependent({.epoch = epoch}, kNeverWaits, 0, 0);
  EXPECT_EQ(chain.began().size(), Chain::kMost);
  EXPECT_EQ(chain.ended().size(), Chain::kMost);
  EXPECT_EQ(chain.began().back().epoch, 3 * Chain::kMost - 2);
}

class LaunchEvents : public Dependents {
 protected:
  Explanation explanation() {
    const std::vector<Hazard> hazards = found();
    EXPECT_EQ(hazards.size(), 1u);
    return hazards.empty() ? Explanation{} : hazards[0].explanation;
  }
};

TEST_F(LaunchEvents, LCH_04_SaysNothingOfItsKernel) {
  writes(a);
  const OpId record = model.record_by_launch(call(), s, event, false);
  model.wait_event(call(), t, event);
  use(AccessMode::Read, a, {}, false, t);
  const Explanation why = explanation();
  EXPECT_EQ(why.nearest, NearestEdge::LaunchEvent);
  EXPECT_EQ(why.record, record);
}
TEST_F(LaunchEvents, LCH_04_CoversWhatIsInFront) {
  writes(a);
  writes(b);
  model.record_by_launch(call(), s, event, false);
  model.wait_event(call(), t, event);
  use(AccessMode::Read, a, {}, false, t);
  EXPECT_TRUE(silent());
}
TEST_F(LaunchEvents, LCH_04_TheHostKnowsNoMore) {
  const Address pinned = memory(MemoryKind::Pinned);
  writes(pinned);
  model.record_by_launch(call(), s, event, false);
  sync_event(event);
  model.host_access(call(), {pinned, pinned + kAccess}, AccessMode::Read);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}
TEST_F(LaunchEvents, LCH_03_FiresAtTheEndToday) {
  writes(a);
  model.record_by_launch(call(), s, event, true);
  model.wait_event(call(), t, event);
  use(AccessMode::Read, a, {}, false, t);
  EXPECT_TRUE(one_latent(HazardKind::ReadAfterWrite, Rule::LCH_03));
}
TEST_F(LaunchEvents, LCH_03_ADependentBehindItOverlaps) {
  writes(a);
  model.record_by_launch(call(), s, event, true);
  reads(a, kWaits, true);
  EXPECT_EQ(how(), DependentUse::BeforeWait);
}

/// The kernel in front is complete, which one host thread knows.
class DependentsOfThreads : public SeparateThreads {
 protected:
  bool races_behind_a_record_of(ThreadId records) {
    const Address a = memory();
    const StreamId s = non_blocking();
    const KernelBytes written{.bytes = bytes(a), .mode = AccessMode::Write};
    const KernelBytes read{.bytes = bytes(a), .mode = AccessMode::Read, .early = true};
    model.launch(call(), s, {.function = FunctionId{1}}, {}, {&written, 1});
    sync_stream(s);
    model.record_event(call(records), s, model.create_event(EventTiming::Off));
    model.launch(call(kWorker), s, {.function = FunctionId{1}, .dependence = kNeverWaits}, {}, {&read, 1});
    return !silent();
  }
};

TEST_F(DependentsOfThreads, LCH_02g_TheRecordComesBehindWhatItsThreadKnows) {
  EXPECT_FALSE(races_behind_a_record_of(kMain));
}
TEST_F(DependentsOfThreads, LCH_02g_ARecordByAThreadThatKnowsNothing) {
  EXPECT_TRUE(races_behind_a_record_of(kWorker));
}

}  // namespace
}  // namespace streamsan::ordering::testing
