// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work against work: each program that is reported stands before a twin that is not.
#include <gtest/gtest.h>

#include "analyzer/analysis/tests/script.h"

namespace streamsan::analyzer::testing {
namespace {

const std::string kTwoStreams = "stream s1 nonblocking\nstream s2 nonblocking\nalloc d\n";

TEST(Races, WriteThenReadOnAnotherStream) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nlaunch q s2 r:d"), "cross-stream-race definite 5<4");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nlaunch q s1 r:d"), "");
}

TEST(Races, ReadThenWrite) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 r:d\nlaunch q s2 w:d"), "cross-stream-race definite 5<4");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 r:d\nlaunch q s2 r:d"), "");
}

TEST(Races, AtomicsCommute) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 a:d\nlaunch q s2 r:d"), "cross-stream-race definite 5<4");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 a:d\nlaunch q s2 a:d"), "");
}

TEST(Races, AKernelThatIsNotInSightIsPresumedToUseWhatItIsGiven) {
  EXPECT_EQ(reported_all(kTwoStreams + "launch p s1 w:d\nlaunch q s2 ?:d"), "cross-stream-race likely 5<4");
  EXPECT_EQ(reported_all(kTwoStreams + "launch p s1 ?:d\nfill s2 d"), "cross-stream-race likely 5<4");
  EXPECT_EQ(reported_all(kTwoStreams + "launch p s1 w:d\nlaunch q s1 ?:d"), "");
  // It may only read.
  EXPECT_EQ(reported_all(kTwoStreams + "launch p s1 r:d\nlaunch q s2 ?:d"), "cross-stream-race maybe 5<4");
  EXPECT_EQ(reported_all(kTwoStreams + "launch p s1 ?:d\nlaunch q s2 ?:d"), "cross-stream-race maybe 5<4");
}

TEST(Races, EventOrders) {
  EXPECT_EQ(reported(kTwoStreams + "event e\nlaunch p s1 w:d\nrecord e s1\nlaunch q s2 r:d\nwait s2 e"),
            "cross-stream-race definite 7<5 event-not-waited-for");
  EXPECT_EQ(reported(kTwoStreams + "event e\nlaunch p s1 w:d\nrecord e s1\nwait s2 e\nlaunch q s2 r:d"), "");
}

TEST(Races, EventRecordedTooEarly) {
  EXPECT_EQ(reported(kTwoStreams + "event e\nrecord e s1\nlaunch p s1 w:d\nwait s2 e\nlaunch q s2 r:d"),
            "event-wait-without-record definite 8<6 event-recorded-too-early");
  EXPECT_EQ(reported(kTwoStreams + "event e\nlaunch p s1 w:d\nrecord e s1\nwait s2 e\nlaunch q s2 r:d"), "");
}

TEST(Races, EventRecordedOnTheOtherStream) {
  EXPECT_EQ(reported(kTwoStreams + "event e\nlaunch p s1 w:d\nrecord e s2\nwait s2 e\nlaunch q s2 r:d"),
            "cross-stream-race definite 8<5 event-recorded-elsewhere");
}

TEST(Races, AThirdStreamWaits) {
  EXPECT_EQ(reported("stream s3 nonblocking\n" + kTwoStreams +
                     "event e\nlaunch p s1 w:d\nrecord e s1\nwait s3 e\nlaunch q s2 r:d"),
            "cross-stream-race definite 9<6 wait-elsewhere");
  EXPECT_EQ(reported("stream s3 nonblocking\n" + kTwoStreams +
                     "event e\nlaunch p s1 w:d\nrecord e s1\nwait s3 e\nrecord e s3\nwait s2 e\nlaunch q s2 r:d"),
            "");
}

TEST(Races, RecordAgainKeepsTheOldWait) {
  EXPECT_EQ(reported(kTwoStreams + "event e\nlaunch p s1 w:d\nrecord e s1\nwait s2 e\nrecord e s1\nlaunch q s2 r:d"),
            "");
  // The second record, of another stream, takes the place of the first.
  EXPECT_EQ(reported(kTwoStreams +
                     "event e\nlaunch p s1 w:d\nrecord e s1\nqueryevent e\nrecord e s2\nwait s2 e\nlaunch q s2 r:d"),
            "");
}

TEST(Races, HostSynchronisationOrders) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nsync s2\nlaunch q s2 r:d"),
            "cross-stream-race definite 6<4 other-stream-synchronised");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nsync s1\nlaunch q s2 r:d"), "");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\ndevice\nlaunch q s2 r:d"), "");
  EXPECT_EQ(reported(kTwoStreams + "event e\nlaunch p s1 w:d\nrecord e s1\nsyncevent e\nlaunch q s2 r:d"), "");
}

TEST(Races, SynchronisationComesTooLate) {
  EXPECT_EQ(reported(kTwoStreams + "event e\nlaunch p s1 w:d\nlaunch q s2 r:d\nrecord e s1\nwait s2 e"),
            "cross-stream-race definite 6<5 wait-after");
  EXPECT_EQ(reported(kTwoStreams + "event e\nlaunch p s1 w:d\nlaunch q s2 r:d\nrecord e s2\nwait s1 e"),
            "cross-stream-race definite 6<5");
  // The end of a function, not an attempt to order two streams.
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nlaunch q s2 r:d\nsync s1"), "cross-stream-race definite 5<4");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nlaunch q s2 r:d\ndevice"), "cross-stream-race definite 5<4");
  EXPECT_EQ(reported(kTwoStreams + "alloc h pinned\ncopy s1 h d d2h\nhost r:h\nsync s1"),
            "host-read-before-done definite 6<5 wait-after");
}

TEST(Races, AQueryMayTell) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nquery s1\nlaunch q s2 r:d"), "");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nquery s2\nlaunch q s2 r:d"), "cross-stream-race definite 6<4");
}

TEST(Races, UnknownCalleeMayHaveSynchronised) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nmaysync\nlaunch q s2 r:d"), "");
  EXPECT_EQ(reported(kTwoStreams + "maysync\nlaunch p s1 w:d\nlaunch q s2 r:d"), "cross-stream-race definite 6<5");
}

TEST(Races, UnknownCalleeThatGetsTheStream) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nescape s2\nlaunch q s2 r:d"), "");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nescape s1\nlaunch q s2 r:d"), "");
  EXPECT_EQ(reported("stream s3\n" + kTwoStreams + "launch p s1 w:d\nescape s3\nlaunch q s2 r:d"),
            "cross-stream-race definite 7<5");
}

TEST(Races, UnknownCalleeThatGetsTheBuffer) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nescape d\nlaunch q s2 r:d"), "");
}

TEST(Races, UnknownCalleeThatGetsTheEvent) {
  EXPECT_EQ(reported(kTwoStreams + "event e\nlaunch p s1 w:d\nescape e\nwait s2 e\nlaunch q s2 r:d"), "");
}

TEST(Races, BranchOrdersOnOnePath) {
  const std::string branch =
      kTwoStreams + "event e\nlaunch p s1 w:d\nrecord e s1\ngoto A B\nA:\nwait s2 e\nB:\nlaunch q s2 r:d";
  EXPECT_EQ(reported(branch), "");
  EXPECT_EQ(reported_all(branch), "cross-stream-race maybe 11<5 only-on-some-paths");
}

TEST(Races, BranchOrdersOnBothPaths) {
  EXPECT_EQ(
      reported_all(
          kTwoStreams +
          "event e\nlaunch p s1 w:d\nrecord e s1\ngoto A B\nA:\nwait s2 e\ngoto C\nB:\nsync s1\nC:\nlaunch q s2 r:d"),
      "");
}

TEST(Races, ProducerOnOnePathIsStillDefinite) {
  EXPECT_EQ(reported(kTwoStreams + "goto A B\nA:\nlaunch p s1 w:d\nB:\nlaunch q s2 r:d"),
            "cross-stream-race definite 8<6");
  EXPECT_EQ(reported_all(kTwoStreams + "goto A B\nA:\nlaunch p s1 w:d\nsync s1\nB:\nlaunch q s2 r:d"), "");
}

TEST(Races, ATombstoneTellsSynchronisedFromNeverHappened) {
  // One path waits for the access, the other does not: some path orders it.
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\ngoto A B\nA:\nsync s1\nB:\nlaunch q s2 r:d"), "");
}

TEST(Races, EarlyReturnDoesNotMatter) {
  EXPECT_EQ(reported(kTwoStreams +
                     "event e\nlaunch p s1 w:d\ngoto A B\nA:\nreturn\nB:\nrecord e s1\nwait s2 e\nlaunch q s2 r:d"),
            "");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\ngoto A B\nA:\nsync s1\nreturn\nB:\nlaunch q s2 r:d"),
            "cross-stream-race definite 10<4");
}

TEST(Races, OffsetsSplitABuffer) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d+0\nlaunch q s2 r:d+n"), "");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d+n\nlaunch q s2 r:d+n"), "cross-stream-race definite 5<4");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nlaunch q s2 r:d+n"), "");
  EXPECT_EQ(reported_all(kTwoStreams + "alloc h pinned\ncopy s1 d h h2d 64\ncopy s2 d+64 h h2d 64"), "");
}

TEST(Races, PartsAreComparedInBytes) {
  const std::string start = kTwoStreams + "alloc h pinned\n";
  EXPECT_EQ(reported_all(start + "copy s1 d h h2d 512\ncopy s2 d+128@4 h h2d 512"), "");
  EXPECT_EQ(reported(start + "copy s1 d h h2d 512\ncopy s2 d+127@4 h h2d 512"), "cross-stream-race definite 6<5");
  EXPECT_EQ(reported_all(start + "copy s1 d+128@4 h h2d 512\ncopy s2 d h h2d 512"), "");
  EXPECT_EQ(reported(start + "copy s1 d+127@4 h h2d 512\ncopy s2 d h h2d 512"), "cross-stream-race definite 6<5");
  EXPECT_EQ(reported_all(start + "copy s1 d h h2d n*4\ncopy s2 d+n@4 h h2d n*4"), "");
  EXPECT_EQ(reported_all(start + "copy s1 d+n@4 h h2d n*4\ncopy s2 d h h2d n*4"), "");
  EXPECT_EQ(reported(start + "copy s1 d h h2d (n+1)*4\ncopy s2 d+n@4 h h2d n*4"), "cross-stream-race definite 6<5");
  EXPECT_EQ(reported_all(start + "copy s1 d+i*n@4 h h2d n*4\ncopy s2 d+(i+1)*n@4 h h2d n*4"), "");
}

TEST(Races, PartsThatCannotBeComparedAreNeverCertain) {
  const std::string start = kTwoStreams + "alloc h pinned\n";
  for (const char* parts :
       {"copy s1 d h h2d n*4\ncopy s2 d+128@4 h h2d 512", "copy s1 d h h2d 512\ncopy s2 d+n@4 h h2d 512",
        "copy s1 d+i*n@4 h h2d n*4\ncopy s2 d+k*n@4 h h2d n*4", "copy s1 d h h2d n*4\nfresh n\ncopy s2 d+n@4 h h2d n*4",
        "copy s1 d h h2d\ncopy s2 d+128@4 h h2d 512"}) {
    EXPECT_EQ(reported(start + parts), "") << parts;
    EXPECT_NE(reported_all(start + parts), "") << parts;
  }
}

TEST(Races, AnOffsetThatChangedIsAnotherOne) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d+i\nfresh i\nlaunch q s2 r:d+i"), "");
}

TEST(Races, OneKernelOnParts) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d args:0,n\nlaunch p s2 w:d args:n,n"), "");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d args:n\nlaunch p s2 w:d args:n"), "cross-stream-race definite 5<4");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d args:i\nfresh i\nlaunch p s2 w:d args:i"), "");
}

TEST(Races, ParametersMayBeOneStream) {
  EXPECT_EQ(reported("param s1\nparam s2\nparam d\nlaunch p s1 w:d\nlaunch q s2 r:d"), "");
  EXPECT_EQ(reported_all("param s1\nparam s2\nparam d\nlaunch p s1 w:d\nlaunch q s2 r:d"),
            "cross-stream-race maybe 5<4");
  EXPECT_EQ(reported("param s1\nstream s2\nparam d\nlaunch p s1 w:d\nlaunch q s2 r:d"),
            "cross-stream-race definite 5<4");
}

TEST(Races, ParameterAndDefaultStreamMayBeOne) {
  EXPECT_EQ(reported("param s1\nparam d\nlaunch p s1 w:d\nlaunch q 0 r:d"), "");
}

TEST(Races, UnknownStreamIsNeverDefinite) {
  EXPECT_EQ(reported(kTwoStreams + "launch p ? w:d\nlaunch q s2 r:d"), "");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nlaunch q ? r:d"), "");
}

TEST(Races, LegacyStreamIsABarrier) {
  EXPECT_EQ(reported("stream s1\nalloc d\nlaunch p s1 w:d\nlaunch q 0 r:d"), "");
  EXPECT_EQ(reported("stream s1\nalloc d\nlaunch p 0 w:d\nlaunch q s1 r:d"), "");
  EXPECT_EQ(reported("stream s1\nstream s2\nalloc d\nlaunch p s1 w:d\nlaunch x 0\nlaunch q s2 r:d"), "");
  EXPECT_EQ(reported("stream s1\nstream s2\nalloc d\nlaunch p s1 w:d\nlaunch q s2 r:d"),
            "cross-stream-race definite 5<4");
}

TEST(Races, NonBlockingStreamsTakeNoPart) {
  EXPECT_EQ(reported("stream s1 nonblocking\nalloc d\nlaunch p s1 w:d\nlaunch q 0 r:d"),
            "nonblocking-vs-default definite 4<3 nonblocking-vs-legacy");
  EXPECT_EQ(reported("stream s1 nonblocking\nalloc d\nlaunch p 0 w:d\nlaunch q s1 r:d"),
            "nonblocking-vs-default definite 4<3 nonblocking-vs-legacy");
  EXPECT_EQ(reported("stream s1 nonblocking\nstream s2\nalloc d\nlaunch p s1 w:d\nlaunch x 0\nlaunch q s2 r:d"),
            "cross-stream-race definite 6<4");
}

TEST(Races, StreamsOfUnknownKindMayBlock) {
  EXPECT_EQ(reported("stream s1 unknown\nalloc d\nlaunch p s1 w:d\nlaunch q 0 r:d"), "");
}

TEST(Races, PerThreadDefaultStream) {
  EXPECT_EQ(reported("ptds\nstream s1\nalloc d\nlaunch p s1 w:d\nlaunch q 0 r:d"), "cross-stream-race definite 5<4");
  EXPECT_EQ(reported("ptds\nstream s1\nalloc d\nlaunch p 0 w:d\nlaunch q legacy r:d"), "");
  EXPECT_EQ(reported("stream s1\nalloc d\nlaunch p ptds w:d\nlaunch q 0 r:d"), "");
  EXPECT_EQ(reported("stream s1\nalloc d\nlaunch p ptds w:d\nlaunch q s1 r:d"), "cross-stream-race definite 4<3");
}

TEST(Races, SynchronisingTheLegacyStreamCoversBlockingStreams) {
  EXPECT_EQ(reported("stream s1\nstream s2\nalloc d\nlaunch p s1 w:d\nsync 0\nlaunch q s2 r:d"), "");
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nsync 0\nlaunch q s2 r:d"),
            "cross-stream-race definite 6<4 other-stream-synchronised");
}

TEST(Races, SynchronousCopyAgainstANonBlockingStream) {
  EXPECT_EQ(reported("stream s1 nonblocking\nalloc d\nalloc h pinned\nlaunch p s1 w:d\ncopy 0 h d d2h sync"),
            "nonblocking-vs-default definite 5<4 nonblocking-vs-legacy");
  EXPECT_EQ(reported("stream s1\nalloc d\nalloc h pinned\nlaunch p s1 w:d\ncopy 0 h d d2h sync"), "");
  // Pinned memory has arrived when the call returns; pageable memory may still be on its way (R-CPY-01).
  EXPECT_EQ(reported("stream s1 nonblocking\nalloc d\nalloc h pinned\ncopy 0 d h h2d sync\nlaunch p s1 r:d"), "");
  EXPECT_EQ(reported("stream s1 nonblocking\nalloc d\nalloc h pageable\ncopy 0 d h h2d sync\nlaunch p s1 r:d"),
            "nonblocking-vs-default definite 5<4 nonblocking-vs-legacy R-CPY-01");
  EXPECT_EQ(reported("stream s1 nonblocking\nalloc d\nfill 0 d sync\nlaunch p s1 r:d"),
            "nonblocking-vs-default definite 4<3 nonblocking-vs-legacy R-CPY-50");
}

TEST(Races, OwnedFieldsAreTwoStreams) {
  EXPECT_EQ(reported("owned s1_\nowned s2_\nlaunch p this.s1_ w:this.d_\nlaunch q this.s2_ r:this.d_"),
            "cross-stream-race definite 4<3");
  EXPECT_EQ(reported("launch p this.s1_ w:this.d_\nlaunch q this.s2_ r:this.d_"), "");
}

TEST(Races, AssignedHandles) {
  EXPECT_EQ(reported(kTwoStreams + "assign s3 s1\nlaunch p s1 w:d\nlaunch q s3 r:d"), "");
  EXPECT_EQ(reported(kTwoStreams + "assign s3 s2\nlaunch p s1 w:d\nlaunch q s3 r:d"), "cross-stream-race definite 6<5");
  EXPECT_EQ(reported(kTwoStreams + "assign dx d\nlaunch p s1 w:d\nlaunch q s2 r:dx"), "cross-stream-race definite 6<5");
}

TEST(Races, AStreamThatIsOneOfTwo) {
  EXPECT_EQ(reported(kTwoStreams +
                     "goto A B\nA:\nassign s3 s1\ngoto C\nB:\nassign s3 s2\nC:\nlaunch p s1 w:d\nlaunch q s3 r:d"),
            "");
}

TEST(Races, HandleBehindAReference) {
  EXPECT_EQ(reported(kTwoStreams + "assign p &s1\nlaunch k *p w:d\nlaunch q s1 r:d"), "");
  EXPECT_EQ(reported(kTwoStreams + "assign p &s1\nlaunch k *p w:d\nlaunch q s2 r:d"), "cross-stream-race definite 6<5");
}

TEST(Races, DefaultStreamsOfDevices) {
  const auto on = [](const std::string& first, const std::string& between, const std::string& second) {
    return reported("alloc d\n" + first + "\nlaunch p 0 w:d\n" + between + "\n" + second + "\nlaunch q 0 r:d");
  };
  EXPECT_EQ(on("setdevice 0", "", "setdevice 1"), "cross-stream-race definite 6<3");
  EXPECT_EQ(on("setdevice 0", "sync 0", "setdevice 1"), "");
  EXPECT_EQ(on("setdevice 0", "setdevice 1", "setdevice 0"), "");
  // Which one is not known.
  EXPECT_EQ(on("setdevice", "", "setdevice 1"), "");
  EXPECT_EQ(on("setdevice 0", "", "setdevice"), "");
  EXPECT_EQ(on("", "", "setdevice 1"), "");
  EXPECT_EQ(on("setdevice 0", "setdevice 1", "maysync"), "");
  // A synchronisation of the other device, and one of both.
  EXPECT_EQ(reported("alloc d\nsetdevice 0\nlaunch p 0 w:d\nsetdevice 1\ndevice\nlaunch q 0 r:d"),
            "cross-stream-race definite 6<3");
  EXPECT_EQ(reported("alloc d\nsetdevice 0\nlaunch p 0 w:d\nsetdevice\ndevice\nsetdevice 1\nlaunch q 0 r:d"), "");
}

TEST(Races, DefaultStreamOfAnotherDevice) {
  const auto with = [](const std::string& kind, const std::string& second) {
    return reported("alloc d\nsetdevice 0\nstream s1 " + kind + "\nlaunch p s1 w:d\nsetdevice " + second +
                    "\nlaunch q 0 r:d");
  };
  EXPECT_EQ(with("blocking", "1"), "cross-stream-race definite 6<4");
  EXPECT_EQ(with("blocking", "0"), "");
  EXPECT_EQ(with("blocking", ""), "");
  EXPECT_EQ(reported("alloc d\nsetdevice 0\nlaunch p ptds w:d\nsetdevice 1\nlaunch q ptds r:d"),
            "cross-stream-race definite 5<3");
  EXPECT_EQ(reported("alloc d\nsetdevice 0\nlaunch p ptds w:d\nsetdevice 0\nlaunch q 0 r:d"), "");
}

TEST(Races, CopyBetweenDevices) {
  const std::string head = "alloc d\nalloc t\nalloc h pinned\nsetdevice 0\nlaunch p 0 w:d\n";
  EXPECT_EQ(reported(head + "copy 0 t d\nsetdevice 1\nlaunch q 0 rw:t"), "");
  // Not one between devices.
  EXPECT_EQ(reported(head + "copy 0 h t d2h\nsetdevice 1\nlaunch q 0 r:d"), "cross-stream-race definite 8<5");
}

TEST(Races, RecordInTheLegacyStreamIsABarrier) {
  EXPECT_EQ(reported("stream s1\nevent e\nalloc d\nlaunch p s1 w:d\nrecord e 0\nlaunch q ptds r:d"), "");
  EXPECT_EQ(reported("stream s1\nevent e\nalloc d\nlaunch p s1 w:d\nrecord e s1\nlaunch q ptds r:d"),
            "cross-stream-race definite 6<4 event-not-waited-for");
  // R-EVT-04: a wait for an event that was never recorded is none.
  EXPECT_EQ(reported("stream s1\nevent e\nalloc d\nlaunch p s1 w:d\nwait 0 e\nlaunch q ptds r:d"),
            "event-wait-without-record definite 5 event-never-recorded\ncross-stream-race definite 6<4");
}

TEST(Races, StreamOrderedAllocation) {
  EXPECT_EQ(reported("stream s1 nonblocking\nstream s2 nonblocking\nalloc d async s1\nlaunch p s2 w:d"),
            "cross-stream-race definite 4<3");
  EXPECT_EQ(reported("stream s1 nonblocking\nstream s2 nonblocking\nalloc d async s1\nlaunch p s1 w:d"), "");
}

TEST(Races, CaptureIsNotRun) {
  EXPECT_EQ(reported(kTwoStreams + "capture s1\nlaunch p s1 w:d\nlaunch q s2 r:d\nendcapture s1"), "");
  EXPECT_EQ(reported(kTwoStreams + "capture s1\nlaunch x s1 r:d\nendcapture s1\nlaunch p s1 w:d\nlaunch q s2 r:d"),
            "cross-stream-race definite 8<7");
}

TEST(Races, OneMissingEdgeIsReportedOnce) {
  EXPECT_EQ(reported(kTwoStreams + "launch p s1 w:d\nlaunch o s1 w:d\nlaunch q s2 r:d\nlaunch r s2 r:d"),
            "cross-stream-race definite 6<5");
}

TEST(Races, GroupsHoldBack) {
  const std::string head =
      "stream s1 nonblocking\nstream s2 nonblocking\nevent e\nalloc d\nlaunch k s2 w:d\nrecord e s2\n";
  EXPECT_EQ(reported(head + "send s1 r:d\nwait s1 e"), "cross-stream-race definite 7<5 event-not-waited-for");
  // The wait comes first, for nothing is enqueued before the group ends.
  EXPECT_EQ(reported(head + "group\nsend s1 r:d\nwait s1 e\nendgroup"), "");
  EXPECT_EQ(reported(head + "group\nsend s1 r:d\nendgroup\nwait s1 e"),
            "cross-stream-race definite 8<5 event-not-waited-for");
  EXPECT_EQ(reported(head + "group\ngroup\nsend s1 r:d\nendgroup\nwait s1 e\nendgroup"), "");
  // What is recorded inside of the group does not cover it.
  const std::string held = "stream s1 nonblocking\nstream s2 nonblocking\nevent e\nalloc d\ngroup\nsend s1 w:d\n";
  EXPECT_EQ(reported(held + "record e s1\nendgroup\nwait s2 e\nlaunch k s2 r:d"),
            "event-wait-without-record definite 10<6 event-recorded-too-early");
  EXPECT_EQ(reported(held + "endgroup\nrecord e s1\nwait s2 e\nlaunch k s2 r:d"), "");
  EXPECT_EQ(reported(held + "launch k s2 r:d\nendgroup\n"), "cross-stream-race definite 6<7");
  // Two of one group, and groups that are open on some paths only.
  EXPECT_EQ(reported(held + "send s2 r:d\nendgroup\n"), "");
  EXPECT_EQ(reported(head + "goto A B\nA:\ngroup\ngoto B\nB:\nsend s1 r:d\nendgroup"), "");
}

}  // namespace
}  // namespace streamsan::analyzer::testing
