// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// R-CPY-30 to 34, R-CPY-54: batches of copies and of discards.
#include "ordering/tests/program.h"

namespace streamsan::ordering::testing {
namespace {

class Batch : public ModelTest {
 protected:
  Address a = memory();
  Address b = memory();
  Address c = memory();
  StreamId s = non_blocking();
  StreamId t = non_blocking();

  OpId batch(StreamId stream, std::initializer_list<BatchPart> parts, AccessSource source = AccessSource::Copy) {
    const OpId op = model.batch(call(), stream, {parts.begin(), parts.size()}, source);
    model.returned(kMain, true);
    return op;
  }
  static BatchPart part(Address dst, Address src, SourceOrder order = SourceOrder::Stream) {
    return {bytes(dst), bytes(src), order};
  }
  bool race() { return one(HazardKind::ReadAfterWrite); }
};

TEST_F(Batch, R_CPY_30_EveryCopyIsCompared) {
  write(t, b);
  batch(s, {part(a, c), part(c, b)});
  EXPECT_TRUE(race());
  read(t, a);
  EXPECT_TRUE(race());
  write(t, c);
  EXPECT_FALSE(silent());
}

TEST_F(Batch, R_CPY_30_IsInStreamOrder) {
  write(s, b);
  batch(s, {part(a, b), part(c, b)});
  read(s, a);
  write(s, c);
  edge(s, t);
  read(t, a);
  read(t, c);
  EXPECT_TRUE(silent());
}

TEST_F(Batch, R_CPY_30_IsOneOperation) {
  const OpId first = batch(s, {part(a, c), part(b, c)});
  const OpId next = write(s, c);
  EXPECT_EQ(static_cast<std::uint64_t>(next), static_cast<std::uint64_t>(first) + 1);
}

TEST_F(Batch, R_CPY_30_ItsCopiesAreNotComparedWithEachOther) {
  batch(s, {part(b, a), part(c, b, SourceOrder::Any), part(a, c)});
  EXPECT_TRUE(silent());
}

TEST_F(Batch, R_CPY_30_OfNothingIsNoOperation) {
  EXPECT_EQ(batch(s, {}), kNoOp);
  EXPECT_EQ(batch(s, {BatchPart{}}), kNoOp);
}

TEST_F(Batch, R_CPY_32_IsNotAfterEarlierWorkOfItsStream) {
  write(s, b);
  batch(s, {part(a, b, SourceOrder::DuringCall)});
  ASSERT_EQ(recorder.hazards.size(), 1u);
  EXPECT_EQ(recorder.hazards[0].explanation.nearest, NearestEdge::SourceOrder);
  EXPECT_TRUE(race());
}

TEST_F(Batch, R_CPY_32_IsAfterWhatTheHostKnows) {
  write(s, b);
  sync_stream(s);
  batch(s, {part(a, b, SourceOrder::DuringCall)});
  EXPECT_TRUE(silent());
}

TEST_F(Batch, R_CPY_32_TheSourceIsFreeAtTheReturn) {
  batch(s, {part(a, b, SourceOrder::DuringCall)});
  write(t, b);
  EXPECT_TRUE(silent());
}

TEST_F(Batch, R_CPY_32_ButNotTheDestination) {
  batch(s, {part(a, b, SourceOrder::DuringCall)});
  read(t, a);
  EXPECT_TRUE(race());
}

TEST_F(Batch, R_CPY_33_IsNotAfterEarlierWorkOfItsStream) {
  write(s, b);
  batch(s, {part(a, b, SourceOrder::Any)});
  ASSERT_EQ(recorder.hazards.size(), 1u);
  EXPECT_EQ(recorder.hazards[0].explanation.nearest, NearestEdge::SourceOrder);
  EXPECT_TRUE(race());
}

TEST_F(Batch, R_CPY_33_NorAfterWhatItsStreamWaitsFor) {
  write(t, b);
  edge(t, s);
  batch(s, {part(a, b, SourceOrder::Any)});
  EXPECT_TRUE(race());
}

TEST_F(Batch, R_CPY_33_IsAfterWhatTheHostKnows) {
  write(s, b);
  sync_stream(s);
  batch(s, {part(a, b, SourceOrder::Any)});
  EXPECT_TRUE(silent());
}

TEST_F(Batch, R_CPY_33_TheSourceIsBusyUntilTheBatchIsComplete) {
  batch(s, {part(a, b, SourceOrder::Any)});
  write(t, b);
  EXPECT_TRUE(one(HazardKind::WriteAfterRead));
  write(s, b);
  EXPECT_FALSE(silent());  // with the write of the other stream
  edge(s, t);
  write(t, b);
  EXPECT_TRUE(silent());
}

TEST_F(Batch, R_CPY_34_TheDestinationIsWrittenInStreamOrder) {
  write(s, a);
  batch(s, {part(a, b, SourceOrder::Any), part(a + kAccess, b, SourceOrder::DuringCall)});
  EXPECT_TRUE(silent());
}

TEST_F(Batch, R_CPY_54_ADiscardIsAWrite) {
  read(s, a);
  batch(t, {{bytes(a), {}}}, AccessSource::Fill);
  EXPECT_TRUE(one(HazardKind::WriteAfterRead));
}

TEST_F(Batch, R_CPY_54_InStreamOrder) {
  read(s, a);
  batch(s, {{bytes(a), {}}}, AccessSource::Fill);
  write(s, a);
  EXPECT_TRUE(silent());
}

TEST_F(Batch, R_CPY_34_APageableDestinationIsNotWaitedFor) {
  batch(s, {part(a, b), {pageable(), bytes(b), SourceOrder::Stream}});
  read(t, a);
  EXPECT_TRUE(one(HazardKind::ReadAfterWrite));
}

TEST_F(Batch, R_CPY_34_APageableDestinationFreedTooEarly) {
  const Footprint to = pageable();
  batch(s, {{to, bytes(b), SourceOrder::Stream}});
  model.host_free(call(), {to.base, to.base + to.width});
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
}

TEST_F(Batch, R_CPY_34_APageableDestinationFreedInTime) {
  const Footprint to = pageable();
  batch(s, {{to, bytes(b), SourceOrder::Stream}});
  sync_stream(s);
  model.host_free(call(), {to.base, to.base + to.width});
  EXPECT_TRUE(silent());
}

TEST_F(Batch, R_CPY_33_APageableSourceFreedTooEarly) {
  const Footprint from = pageable();
  batch(s, {{bytes(a), from, SourceOrder::Any}});
  model.host_free(call(), {from.base, from.base + from.width});
  EXPECT_TRUE(one(HazardKind::FreeWhileInUse));
}

TEST_F(Batch, R_CPY_13_APageableSourceInStreamOrder) {
  const Footprint from = pageable();
  batch(s, {{bytes(a), from, SourceOrder::Stream}});
  model.host_free(call(), {from.base, from.base + from.width});
  EXPECT_TRUE(one_latent(HazardKind::FreeWhileInUse, Rule::CPY_13));
}

TEST_F(Batch, R_CPY_32_APageableSourceThatIsReadDuringTheCall) {
  const Footprint from = pageable();
  batch(s, {{bytes(a), from, SourceOrder::DuringCall}});
  model.host_free(call(), {from.base, from.base + from.width});
  EXPECT_TRUE(silent());
}

class SeparateBatch : public SeparateThreads {};

TEST_F(SeparateBatch, R_CPY_32_OtherThreadsDoNotKnowTheReturn) {
  const Address a = memory();
  const Address b = memory();
  const BatchPart part{bytes(a), bytes(b), SourceOrder::DuringCall};
  model.batch(call(), non_blocking(), {&part, 1});
  model.returned(kMain, true);
  model.fill(call(kWorker), non_blocking(), bytes(b), Form::Asynchronous);
  model.returned(kWorker, true);
  EXPECT_TRUE(one(HazardKind::WriteAfterRead));
}

}  // namespace
}  // namespace streamsan::ordering::testing
