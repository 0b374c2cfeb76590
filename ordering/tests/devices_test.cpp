// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several devices: each has a context with a legacy stream of its own (R-STR-22), and only events, the host and copies
// between their memories in a legacy stream (R-CPY-40) order their work. Which streams such a copy waits for and holds
// up was measured with two H200 (docs/model.md).
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class Devices : public ModelTest {
 protected:
  Address memory_of(std::optional<ContextId> device, MemoryKind kind = MemoryKind::Device) {
    return memory(kind, device);
  }
  StreamId there(StreamKind kind = StreamKind::Blocking) { return model.create_stream(kOtherContext, kind); }
  StreamId legacy_there() { return model.legacy_stream(kOtherContext); }
  /// From this device to the other one.
  void move(StreamId stream, Form form = Form::Synchronous) { copy(stream, bytes(far), bytes(near), form); }

  const Address near = memory_of(kContext);
  const Address far = memory_of(kOtherContext);
};

TEST_F(Devices, NothingOrdersTheirDefaultStreams) {
  write(legacy(), near);
  read(legacy_there(), near);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Devices, R_CPY_40_TheCopyWaitsForTheOtherDevice) {
  write(there(), far);
  move(legacy());
  EXPECT_TRUE(silent());
  write(legacy_there(), far);
  move(legacy(), Form::Asynchronous);
  EXPECT_TRUE(silent());
}

TEST_F(Devices, R_CPY_40_TheOtherDeviceWaitsForTheCopy) {
  const StreamId early = there();
  write(early, near + kAccess);  // it was there before
  move(legacy());
  read(legacy_there(), far);
  read(there(), far);
  read(early, far);
  EXPECT_TRUE(silent());
}

TEST_F(Devices, R_CPY_40_ItIsABarrierBothWays) {
  const Address a = memory_of(kOtherContext);
  const Address b = memory_of(kContext);
  write(there(), a);
  write(blocking(), b);
  move(legacy());
  read(blocking(), a);
  read(there(), b);
  EXPECT_TRUE(silent());
}

TEST_F(Devices, R_CPY_40_AlsoOfDevicesThatAreNotCurrent) {
  constexpr ContextId kThird{9};
  write(there(), far);
  copy(model.legacy_stream(kThird), bytes(far), bytes(near), Form::Synchronous);
  read(there(), far);
  write(blocking(), near);
  EXPECT_TRUE(silent());
}

TEST_F(Devices, R_CPY_40_NonBlockingStreamsTakeNoPart) {
  const StreamId other = there(StreamKind::NonBlocking);
  write(other, far);
  move(legacy());
  EXPECT_TRUE(one(HazardKind::WriteAfterWrite));
  read(other, far);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Devices, R_CPY_41_InAnotherStreamItIsNoBarrier) {
  for (const StreamId stream : {blocking(), non_blocking()}) {
    const Address a = memory_of(kOtherContext);
    copy(stream, bytes(a), bytes(near), Form::Asynchronous);
    read(there(), a);
    EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
  }
  const Address b = memory_of(kContext);
  copy(there(), bytes(far), bytes(b), Form::Asynchronous);
  write(blocking(), b);
  EXPECT_TRUE(one(HazardKind::WriteAfterRead));
}

TEST_F(Devices, ACopyInsideOfOneDeviceIsNoBarrierOfTheOther) {
  write(there(), far);
  copy(legacy(), bytes(memory_of(kContext)), bytes(near), Form::Synchronous);
  read(legacy(), far);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Devices, NorIsOneFromTheHost) {
  write(there(), far + kAccess);
  copy(legacy(), bytes(far), bytes(memory_of(kContext, MemoryKind::Pinned)), Form::Asynchronous);
  read(legacy(), far + kAccess);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Devices, ManagedMemoryIsOfTheDeviceItWasMadeOn) {
  const Address managed = memory_of(kContext, MemoryKind::Managed);
  write(there(), far);
  copy(legacy(), bytes(far), bytes(managed), Form::Asynchronous);
  EXPECT_TRUE(silent());
  write(there(), far + kAccess);
  copy(legacy(), bytes(near), bytes(managed), Form::Asynchronous);
  read(legacy(), far + kAccess);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Devices, ACopyInAStreamOfNeitherDeviceIsABarrierOfAllThree) {
  write(there(), far);
  copy(legacy(), bytes(far), bytes(memory_of(kOtherContext)), Form::Asynchronous);
  EXPECT_TRUE(silent());
  read(legacy_there(), far);
  EXPECT_TRUE(silent());
}

TEST_F(Devices, ACopyFromMemoryOfWhateverDeviceIsABarrierOfAll) {
  const StreamId elsewhere = there();
  const Address pool = 0x5'0000'0000;
  model.allocate_async(call(), elsewhere, {pool, pool + kMemory}, false);
  edge(elsewhere, legacy());
  for (const Address side : {memory_of(std::nullopt), memory_of(std::nullopt, MemoryKind::Managed), pool}) {
    const Address a = memory_of(kOtherContext);
    write(elsewhere, a);
    copy(legacy(), bytes(near), bytes(side), Form::Asynchronous);
    read(legacy(), a);
    EXPECT_TRUE(silent());
  }
}

TEST_F(Devices, StreamOrderedMemoryIsOfTheDeviceOfItsStream) {
  const Address a = 0x5'0000'0000;
  const StreamId stream = there();
  model.allocate_async(call(), stream, {a, a + kMemory});
  write(stream, a);
  copy(legacy(), bytes(near), bytes(a), Form::Asynchronous);
  read(legacy_there(), near);
  EXPECT_TRUE(silent());
}

TEST_F(Devices, R_EVT_06_AnEventOrdersAcrossThem) {
  const StreamId here = non_blocking();
  const StreamId other = there(StreamKind::NonBlocking);
  write(here, near);
  edge(here, other);
  read(other, near);
  EXPECT_TRUE(silent());
}

TEST_F(Devices, R_SYN_03_WaitingForOneSaysNothingOfTheOther) {
  write(there(), far);
  sync_context();
  read(blocking(), far);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Devices, R_ALC_02_AFreeWaitsForTheDeviceThatHoldsTheMemory) {
  read(there(StreamKind::NonBlocking), far);
  free(far);  // with this device current
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::ALC_02));
  read(there(StreamKind::NonBlocking), near);
  free(near);
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
}

TEST_F(Devices, R_ALC_05_OrTheOneThatHostMemoryWasMadeOn) {
  for (const MemoryKind kind : {MemoryKind::Managed, MemoryKind::Pinned, MemoryKind::Registered}) {
    const Rule rule = kind == MemoryKind::Managed ? Rule::ALC_02 : Rule::ALC_05;
    const Address a = memory_of(kOtherContext, kind);
    read(there(StreamKind::NonBlocking), a);
    free(a);  // with this device current
    EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, rule));
    const Address b = memory_of(kContext, kind);
    read(there(StreamKind::NonBlocking), b);
    free(b);
    EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
  }
}

}  // namespace
}  // namespace streamsan::ordering::testing
