// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-CPY: what the host knows when a copy or fill returns, for every pair of memory kinds and both forms.
//
// Two probes, both writes in an unrelated non-blocking stream after the copy has returned: of bytes written before the
// copy in its stream (was prior work waited for?) and of bytes the copy itself wrote (was the copy complete?).
// Unordered: neither clock says so; latent: the assumed clock does; silent: it is documented.
#include "ordering/copies.h"

#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class Copy : public ModelTest {
 protected:
  StreamId s = non_blocking();
  StreamId t = non_blocking();
  Address before = 0;

  Footprint some(MemoryKind kind) { return kind == MemoryKind::Pageable ? pageable() : bytes(memory(kind)); }

  /// Runs prior work and the copy, and probes.
  void run(Footprint dst, Footprint src, Form form) {
    before = memory();
    write(s, before);
    copy(s, dst, src, form);
  }
  bool prior_known() {
    write(t, before);
    return silent();
  }
  bool overwritten(Footprint bytes) {
    write(t, bytes.base);
    return silent();
  }
};

TEST_F(Copy, R_CPY_01_PageableToDeviceWaitsForPriorWorkOnly) {
  const Footprint dst = some(MemoryKind::Device);
  run(dst, pageable(), Form::Synchronous);
  EXPECT_TRUE(prior_known());
  write(t, dst.base);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));  // and not latent: measured
}

TEST_F(Copy, R_CPY_01_InTheLegacyStreamPriorWorkIncludesBlockingStreams) {
  before = memory();
  write(blocking(), before);
  copy(legacy(), some(MemoryKind::Device), pageable(), Form::Synchronous);
  EXPECT_TRUE(prior_known());
}

TEST_F(Copy, R_CPY_02_PinnedToDeviceIsComplete) {
  const Footprint dst = some(MemoryKind::Device);
  const Footprint src = some(MemoryKind::Pinned);
  run(dst, src, Form::Synchronous);
  EXPECT_TRUE(overwritten(dst));
  EXPECT_TRUE(overwritten(src));
  EXPECT_TRUE(prior_known());
}

TEST_F(Copy, R_CPY_03_DeviceToHostIsComplete) {
  for (const MemoryKind host : {MemoryKind::Pinned, MemoryKind::Registered, MemoryKind::Pageable}) {
    const Footprint src = some(MemoryKind::Device);
    run(some(host), src, Form::Synchronous);
    EXPECT_TRUE(overwritten(src));
    EXPECT_TRUE(prior_known());
  }
}

TEST_F(Copy, R_CPY_04_DeviceToDeviceDoesNotWait) {
  const Footprint dst = some(MemoryKind::Device);
  run(dst, some(MemoryKind::DeviceAsync), Form::Synchronous);
  write(t, dst.base);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
  EXPECT_FALSE(prior_known());
}

TEST_F(Copy, R_CPY_05_HostToHostIsComplete) {
  const Footprint dst = some(MemoryKind::Pinned);
  run(dst, pageable(), Form::Synchronous);
  EXPECT_TRUE(overwritten(dst));
}

TEST_F(Copy, R_CPY_06_ManagedIsAssumedComplete) {
  const Footprint dst = some(MemoryKind::Managed);
  copy(s, dst, some(MemoryKind::Device), Form::Synchronous);
  write(t, dst.base);
  EXPECT_TRUE(one_latent(HazardKind::WriteAfterWrite, Rule::CPY_06));
}

TEST_F(Copy, R_CPY_11_SynchronousCopyDoesNotCoverNonBlockingStreams) {
  const Address a = memory();
  write(s, a);
  copy(legacy(), pageable(), bytes(a), Form::Synchronous);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Copy, R_CPY_11_ButBlockingOnes) {
  const Address a = memory();
  write(blocking(), a);
  copy(legacy(), pageable(), bytes(a), Form::Synchronous);
  EXPECT_TRUE(silent());
}

TEST_F(Copy, R_CPY_13_AsyncFromPageableDoesNotWait) {
  const Footprint dst = some(MemoryKind::Device);
  copy(s, dst, pageable(), Form::Asynchronous);
  write(t, dst.base);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Copy, R_CPY_14_AsyncToPageableIsAssumedComplete) {
  const Footprint src = some(MemoryKind::Device);
  copy(s, pageable(), src, Form::Asynchronous);
  write(t, src.base);
  EXPECT_TRUE(one_latent(HazardKind::WriteAfterRead, Rule::CPY_14));
}

TEST_F(Copy, R_CPY_15_AsyncWithPinnedDoesNotWait) {
  const Footprint dst = some(MemoryKind::Pinned);
  const Footprint src = some(MemoryKind::Device);
  copy(s, dst, src, Form::Asynchronous);
  write(t, dst.base);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
  write(t, src.base);
  EXPECT_TRUE(one(HazardKind::WriteAfterRead));
}

TEST_F(Copy, R_CPY_15_HostReadOfAnAsyncResult) {
  const Footprint dst = some(MemoryKind::Pinned);
  copy(s, dst, some(MemoryKind::Device), Form::Asynchronous);
  model.host_access(call(), {dst.base, dst.base + 4}, AccessMode::Read);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  sync_stream(s);
  model.host_access(call(), {dst.base, dst.base + 4}, AccessMode::Read);
  EXPECT_TRUE(silent());
}

TEST_F(Copy, R_CPY_16_AsyncDeviceToDeviceDoesNotWait) {
  const Footprint dst = some(MemoryKind::Device);
  copy(s, dst, some(MemoryKind::Device), Form::Asynchronous);
  write(t, dst.base);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Copy, R_CPY_17_AsyncHostToHostIsComplete) {
  const Footprint dst = some(MemoryKind::Pinned);
  run(dst, some(MemoryKind::Pinned), Form::Asynchronous);
  EXPECT_TRUE(overwritten(dst));
  EXPECT_TRUE(prior_known());
}

TEST_F(Copy, R_CPY_18_AsyncManagedDoesNotWait) {
  const Footprint dst = some(MemoryKind::Managed);
  copy(s, dst, some(MemoryKind::Pinned), Form::Asynchronous);
  write(t, dst.base);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Copy, R_CPY_19_KindsAreFoundFromAddresses) {
  const Footprint src = some(MemoryKind::Device);
  const Footprint dst = some(MemoryKind::Pinned);
  copy(s, {dst.base + 100, 8, 8, 1}, {src.base + 100, 8, 8, 1}, Form::Synchronous);
  EXPECT_TRUE(overwritten(src));
}

TEST_F(Copy, R_CPY_23_NoBytesNoOperation) {
  const StreamId b = blocking();
  const StreamId c = blocking();
  const Address a = memory();
  write(b, a);
  EXPECT_EQ(copy(legacy(), pageable(0), bytes(a, 0), Form::Synchronous), kNoOp);
  EXPECT_EQ(model.fill(call(), legacy(), bytes(a, 0), Form::Synchronous), kNoOp);
  model.returned(kMain, true);
  write(c, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Copy, R_CPY_50_FillOfPinnedMemoryIsComplete) {
  const Address a = memory(MemoryKind::Pinned);
  model.fill(call(), s, bytes(a), Form::Synchronous);
  model.returned(kMain, true);
  write(t, a);
  EXPECT_TRUE(silent());
}

TEST_F(Copy, R_CPY_50_FillOfDeviceMemoryDoesNotWait) {
  const Address a = memory();
  model.fill(call(), s, bytes(a), Form::Synchronous);
  model.returned(kMain, true);
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Copy, R_CPY_06_FillOfManagedMemoryIsAssumedComplete) {
  const Address a = memory(MemoryKind::Managed);
  model.fill(call(), s, bytes(a), Form::Synchronous);
  model.returned(kMain, true);
  write(t, a);
  EXPECT_TRUE(one_latent(HazardKind::WriteAfterWrite, Rule::CPY_06));
}

TEST_F(Copy, R_CPY_51_AsyncFillNeverWaits) {
  const Address a = memory(MemoryKind::Pinned);
  write(s, a);
  write(t, a);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Copy, R_SYN_05_FailedCopyTellsTheHostNothing) {
  const Footprint src = some(MemoryKind::Device);
  model.copy(call(), s, pageable(), src, Form::Synchronous);
  model.returned(kMain, false);
  write(t, src.base);
  EXPECT_TRUE(one(HazardKind::WriteAfterRead));
}

TEST_F(Copy, RowsWithGapsTouchTheirRowsOnly) {
  const Address a = memory();
  const StreamId u = non_blocking();
  copy(s, {a, 64, 256, 4}, pageable(), Form::Asynchronous);
  copy(t, {a + 64, 64, 256, 4}, pageable(), Form::Asynchronous);
  EXPECT_TRUE(silent());
  copy(u, {a + 128 + 32, 64, 256, 4}, pageable(), Form::Asynchronous);
  EXPECT_TRUE(silent());
  copy(t, {a + 3 * 256 + 60, 8, 8, 1}, pageable(), Form::Asynchronous);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Copy, SlicesWithGapsTouchTheirRowsOnly) {
  // Two sub-boxes of one volume: rows of 128 bytes, four to a slice, three slices. Each has two rows of three slices.
  const Address a = memory();
  const Footprint upper{a, 64, 128, 2, 3, 512};
  const Footprint lower{a + 2 * 128, 64, 128, 2, 3, 512};
  const Footprint right{a + 64, 64, 128, 4, 3, 512};
  copy(s, upper, pageable(), Form::Asynchronous);
  copy(t, lower, pageable(), Form::Asynchronous);
  copy(non_blocking(), right, pageable(), Form::Asynchronous);
  EXPECT_TRUE(silent());
  // The second row of the last slice, seen from a third stream.
  write(t, a + 3 * 512);
  EXPECT_TRUE(silent()) << "behind the volume";
  copy(t, {a + 2 * 512 + 128, 8, 8, 1}, pageable(), Form::Asynchronous);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Copy, OverlappingSubBoxesMeetInTheirLastSliceOnly) {
  const Address a = memory();
  const StreamId u = non_blocking();
  copy(s, {a, 64, 128, 2, 2, 512}, pageable(), Form::Asynchronous);                  // slices 0 and 1
  copy(t, {a + 1 * 512 + 128, 64, 128, 2, 2, 512}, pageable(), Form::Asynchronous);  // slices 1 and 2, a row further
  const std::vector<Hazard> hazards = found();
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].overlap, (Range{a + 512 + 128, a + 512 + 128 + 64}));
  copy(u, {a + 2 * 512, 64, 128, 1, 1, 512}, pageable(), Form::Asynchronous);
  EXPECT_TRUE(silent()) << "the first row of the third slice is nobody's";
}

TEST_F(Copy, SlicesThatFollowEachOtherAreOneRun) {
  const Address a = memory();
  copy(s, {a, 64, 64, 4, 4, 256}, pageable(), Form::Asynchronous);
  EXPECT_EQ(model.statistics().shadow_entries, 1u);
  copy(t, {a + 1024, 64, 64, 4, 4, 256}, pageable(), Form::Asynchronous);
  EXPECT_TRUE(silent());
  copy(t, {a + 1023, 1, 1, 1}, pageable(), Form::Asynchronous);
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
}

TEST_F(Copy, R_CPY_23_NoSlicesNoOperation) {
  const Address a = memory();
  EXPECT_EQ(copy(s, {a, 64, 128, 2, 0, 512}, array(0), Form::Asynchronous), kNoOp);
}

TEST_F(Copy, R_CPY_08_SynchronousCopiesOfSuchMemoryWait) {
  const Address a = memory();
  const Address b = memory();
  model.sync_memory(a + kAccess, true);
  copy(s, bytes(a), bytes(b), Form::Synchronous);
  model.fill(call(), s, bytes(a), Form::Synchronous);
  model.returned(kMain, true);
  read(non_blocking(), a);
  EXPECT_TRUE(silent());
}

TEST_F(Copy, R_CPY_08_NotOnceItIsTakenBackNorAsynchronousOnes) {
  const Address a = memory();
  const Address b = memory();
  model.sync_memory(a, true);
  copy(s, bytes(a), bytes(b), Form::Asynchronous);
  read(non_blocking(), a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  sync_context();
  model.sync_memory(a, false);
  copy(s, bytes(a), bytes(b), Form::Synchronous);
  read(non_blocking(), a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

// ---- the table itself ----------------------------------------------------------------------------------------------

constexpr MemoryKind kKinds[] = {MemoryKind::Device, MemoryKind::DeviceAsync, MemoryKind::Managed,
                                 MemoryKind::Pinned, MemoryKind::Registered,  MemoryKind::Pageable};

TEST(CopyMatrix, AssumedNeverKnowsLessThanDocumented) {
  for (const Form form : {Form::Synchronous, Form::Asynchronous}) {
    for (const MemoryKind dst : kKinds) {
      EXPECT_LE(fill_rule(dst, form).documented, fill_rule(dst, form).assumed);
      for (const MemoryKind src : kKinds) {
        const CopyRule rule = copy_rule(dst, src, form);
        EXPECT_LE(rule.documented, rule.assumed);
        // R-CPY-13 is assumed of the source alone: not that the copy is complete.
        const bool assumed = rule.assumed_rule != Rule::CPY_13 && rule_status(rule.assumed_rule) == RuleStatus::Assumed;
        EXPECT_EQ(rule.leans(), assumed) << rule_id(rule.assumed_rule);
      }
    }
  }
}

TEST(CopyMatrix, KindsOfOneSideShareARow) {
  for (const Form form : {Form::Synchronous, Form::Asynchronous}) {
    for (const MemoryKind other : kKinds) {
      EXPECT_EQ(copy_rule(MemoryKind::Device, other, form).documented_rule,
                copy_rule(MemoryKind::DeviceAsync, other, form).documented_rule);
      EXPECT_EQ(copy_rule(other, MemoryKind::Pinned, form).documented_rule,
                copy_rule(other, MemoryKind::Registered, form).documented_rule);
    }
  }
}

}  // namespace
}  // namespace streamsan::ordering::testing
