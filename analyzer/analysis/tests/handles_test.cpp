// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events, destroyed handles, captures, and what is right but slow.
#include <gtest/gtest.h>

#include "analyzer/analysis/tests/script.h"

namespace streamsan::analyzer::testing {
namespace {

const std::string kTwo = "stream s1 nonblocking\nstream s2 nonblocking\nevent e\n";

TEST(Events, WaitWithoutRecord) {
  EXPECT_EQ(reported(kTwo + "wait s2 e"), "event-wait-without-record definite 4 event-never-recorded");
  EXPECT_EQ(reported(kTwo + "record e s1\nwait s2 e"), "");
  EXPECT_EQ(reported("param e\nparam s2\nwait s2 e"), "");
  EXPECT_EQ(reported(kTwo + "syncevent e"), "event-wait-without-record definite 4 event-never-recorded");
}

TEST(Events, WaitWithoutRecordOnSomePath) {
  EXPECT_EQ(reported(kTwo + "goto A B\nA:\nrecord e s1\nB:\nwait s2 e"), "");
  EXPECT_EQ(reported(kTwo + "goto A B\nA:\nwait s2 e\nB:\nlaunch q s2"),
            "event-wait-without-record definite 6 event-never-recorded");
}

// Which condition it is, nobody knows: it may ask whether there has been a record, if what leaves the wait out records.
TEST(Events, WaitThatAConditionLeavesOut) {
  const std::string wait = "goto A B\nA:\nwait s2 e\nB:\n";
  EXPECT_EQ(reported(kTwo + wait + "record e s1"), "");
  EXPECT_EQ(reported_all(kTwo + wait + "record e s1"), "event-wait-without-record maybe 6 event-never-recorded");
  EXPECT_EQ(reported(kTwo + "goto A B\nA:\nlaunch q s2\nB:\nwait s2 e\nrecord e s1"),
            "event-wait-without-record definite 8 event-never-recorded");
  EXPECT_EQ(reported(kTwo + "goto A B\nA:\nwait s2 e\nrecord e s1\nB:\nlaunch q s2"),
            "event-wait-without-record definite 6 event-never-recorded");
}

TEST(Events, UselessWaitIsReportedOnce) {
  EXPECT_EQ(reported(kTwo + "alloc d\nlaunch p s1 w:d\nwait s2 e\nlaunch q s2 r:d"),
            "event-wait-without-record definite 6 event-never-recorded");
}

TEST(Events, RecordedAgain) {
  EXPECT_EQ(reported(kTwo + "record e s1\nrecord e s2\nsyncevent e"), "event-rerecord definite 5<4");
  EXPECT_EQ(reported(kTwo + "record e s1\nwait s2 e\nrecord e s2\nsyncevent e"), "");
  EXPECT_EQ(reported(kTwo + "record e s1\nrecord e s1\nsyncevent e"), "");
  EXPECT_EQ(reported(kTwo + "record e s1\nrecord e s2"), "");
}

TEST(Events, Timing) {
  EXPECT_EQ(reported("event e1 notiming\nevent e2\nrecord e1 0\nrecord e2 0\nsyncevent e2\nelapsed e1 e2"),
            "event-timing-misuse definite 6 (no timing)");
  EXPECT_EQ(reported("event e1\nevent e2\nrecord e1 0\nsyncevent e1\nelapsed e1 e2"),
            "event-timing-misuse definite 5 (not recorded)");
  EXPECT_EQ(reported("event e1\nevent e2\nrecord e1 0\nrecord e2 0\nelapsed e1 e2"),
            "event-timing-misuse definite 5<4 (not complete)");
  EXPECT_EQ(reported("event e1\nevent e2\nrecord e1 0\nrecord e2 0\nsyncevent e2\nelapsed e1 e2"), "");
  EXPECT_EQ(reported("event e1\nevent e2\nrecord e1 0\nrecord e2 0\ndevice\nelapsed e1 e2"), "");
  EXPECT_EQ(reported("event e1\nevent e2\nrecord e1 0\nrecord e2 0\nqueryevent e2\nelapsed e1 e2"), "");
}

TEST(Handles, UseAfterDestroy) {
  EXPECT_EQ(reported("stream s1\nalloc d\ndestroy s1\nlaunch k s1 w:d"), "handle-use-after-destroy definite 4<3");
  EXPECT_EQ(reported("stream s1\nalloc d\nlaunch k s1 w:d\ndestroy s1"), "");
  EXPECT_EQ(reported("stream s1\nalloc d\ndestroy s1\nstream s1\nlaunch k s1 w:d"), "");
  EXPECT_EQ(reported(kTwo + "destroy e\nrecord e s1"), "handle-use-after-destroy definite 5<4");
  EXPECT_EQ(reported("stream s1\ndestroy s1\ndestroy s1"), "handle-use-after-destroy definite 3<2");
}

TEST(Handles, DestroyedOnOnePath) {
  EXPECT_EQ(reported("stream s1\nalloc d\ngoto A B\nA:\ndestroy s1\nB:\nlaunch k s1 w:d"), "");
  EXPECT_EQ(reported("stream s1\nalloc d\ngoto A B\nA:\ndestroy s1\nreturn\nB:\nlaunch k s1 w:d"), "");
}

TEST(Handles, DestroyedInALoop) {
  EXPECT_EQ(reported("loop L:\ngoto B X\nB:\nstream s\nlaunch k s\ndestroy s\ngoto L\nX:"), "");
}

TEST(Handles, DestroyIsNoSynchronisation) {
  EXPECT_EQ(reported("stream s1 nonblocking\nalloc d\nalloc h pinned\ncopy s1 h d d2h\ndestroy s1\nhost r:h"),
            "host-read-before-done definite 6<4");
}

TEST(Capture, UnsafeCalls) {
  const std::string head = "stream s1 nonblocking\nalloc d\nalloc h pageable\ncapture s1\n";
  EXPECT_EQ(reported(head + "device\nendcapture s1"), "capture-unsafe-call definite 5<4 (it synchronises the device)");
  EXPECT_EQ(reported(head + "sync s1\nendcapture s1"),
            "capture-unsafe-call definite 5<4 (it synchronises a stream whose work is not running)");
  EXPECT_EQ(reported(head + "alloc dx\nendcapture s1"),
            "capture-unsafe-call definite 5<4 (it may synchronise the device)");
  EXPECT_EQ(reported(head + "copy 0 d h h2d sync\nendcapture s1"),
            "capture-unsafe-call likely 5<4 (not in the graph) (it is synchronous)");
  EXPECT_EQ(reported(head + "copy s1 d h h2d sync\nendcapture s1"),
            "capture-unsafe-call definite 5<4 (it is synchronous)");
  EXPECT_EQ(reported(head + "launch k 0 w:d\nendcapture s1"),
            "capture-unsafe-call likely 5<4 (not in the graph) (it goes to the default stream, which is not captured)");
  EXPECT_EQ(reported(head + "launch k s1 w:d\nalloc dx async s1\nendcapture s1\nsync s1\ndevice"), "");
  // Beside a blocking stream the legacy default stream is forbidden.
  EXPECT_EQ(reported("stream s1\nalloc d\ncapture s1\nlaunch k 0 w:d\nendcapture s1"),
            "capture-unsafe-call definite 4<3 (it goes to the default stream, which is not captured)");
  EXPECT_EQ(reported("stream s1\nalloc d\nalloc h pageable\ncapture s1\ncopy 0 d h h2d sync\nendcapture s1"),
            "capture-unsafe-call definite 5<4 (it is synchronous)");
}

TEST(Capture, OnSomeWaysOnly) {
  const std::string head = "stream s1\ncapture s1\n", end = "launch k s1\nendcapture s1";
  EXPECT_EQ(reported(head + "goto A B\nA:\nsync s1\ngoto B\nB:\n" + end), "");
  // Leaving without an end is no way through the capture.
  EXPECT_EQ(reported(head + "goto A B\nA:\nreturn\nB:\nsync s1\n" + end),
            "capture-unsafe-call definite 7<2 (it synchronises a stream whose work is not running)");
  // The rounds of a loop, and a choice in one.
  EXPECT_EQ(reported(head + "loop L:\ngoto B X\nB:\nlaunch k s1\nsync s1\ngoto L\nX:\nendcapture s1"),
            "capture-unsafe-call definite 7<2 (it synchronises a stream whose work is not running)");
  EXPECT_EQ(reported(head + "loop L:\ngoto B X\nB:\nlaunch k s1\ngoto C D\nC:\nsync s1\ngoto D\nD:\ngoto L\nX:\n" +
                     "endcapture s1"),
            "");
  // A loop around the capture is none in it.
  EXPECT_EQ(reported("stream s1\nloop L:\ngoto B X\nB:\ncapture s1\ngoto C D\nC:\nsync s1\ngoto D\nD:\nendcapture s1\n"
                     "goto L\nX:"),
            "");
}

TEST(Capture, EndOutOfSight) {
  EXPECT_EQ(reported("stream s1\ncapture s1\nlaunch k s1\nmaysync\nsync s1"), "");
  EXPECT_EQ(reported("stream s1\ncapture s1\nlaunch k s1\nmaysync\nsync s1\nendcapture s1"),
            "capture-unsafe-call definite 5<2 (it synchronises a stream whose work is not running)");
}

TEST(Capture, EventsOfBefore) {
  const std::string head = "stream s1\nstream s2\nevent e\nlaunch k s2\n";
  EXPECT_EQ(reported(head + "record e s2\ncapture s1\nsyncevent e\nendcapture s1"),
            "capture-unsafe-call definite 7<6 (it waits for an event)");
  EXPECT_EQ(reported(head + "record e s2\ncapture s1\nqueryevent e\nendcapture s1"),
            "capture-unsafe-call definite 7<6 (it asks about an event)");
  EXPECT_EQ(reported(head + "record e s2\ncapture s1 relaxed\nsyncevent e\nqueryevent e\nendcapture s1"), "");
  EXPECT_EQ(reported(head + "capture s1\nrecord e s1\nsyncevent e\nendcapture s1"),
            "capture-unsafe-call definite 7<5 (it waits for an event)");
}

TEST(Capture, StreamsBesideIt) {
  const std::string head = "stream s1\nstream s2\nstream s3\nevent e\ncapture s1\n";
  const std::string other = head + "record e s2\nwait s3 e\nlaunch k s3\n";
  EXPECT_EQ(reported(other + "sync s3\nendcapture s1"),
            "capture-unsafe-call definite 9<5 (it synchronises a stream, which only a relaxed capture allows)");
  EXPECT_EQ(reported(other + "query s3\nendcapture s1"),
            "capture-unsafe-call definite 9<5 (it asks about a stream, which only a relaxed capture allows)");
  EXPECT_EQ(reported(other + "libsync s3\nendcapture s1"), "");
  EXPECT_EQ(reported(head + "record e s1\nwait s3 e\nsync s3\nendcapture s1"),
            "capture-unsafe-call definite 8<5 (it synchronises a stream whose work is not running)");
  EXPECT_EQ(reported(head + "alloc d async s2\nendcapture s1"),
            "capture-unsafe-call definite 6<5 (it allocates in a stream that is not captured)");
}

TEST(Capture, Relaxed) {
  const std::string head = "stream s1 nonblocking\nstream s2\nalloc h pageable\ncapture s1 relaxed\n";
  const std::string end = "endcapture s1";
  EXPECT_EQ(reported(head + "sync s2\nquery s2\nalloc d\nalloc x async s2\n" + end), "");
  EXPECT_EQ(reported(head + "sync s1\n" + end),
            "capture-unsafe-call definite 5<4 (it synchronises a stream whose work is not running)");
  EXPECT_EQ(reported(head + "device\n" + end), "capture-unsafe-call definite 5<4 (it synchronises the device)");
}

TEST(Capture, LegacyStreamIsWaitedFor) {
  const std::string end = "endcapture s1";
  EXPECT_EQ(reported("stream s1 nonblocking\ncapture s1 relaxed\nsync 0\nquery 0\n" + end), "");
  EXPECT_EQ(reported("stream s1 nonblocking\ncapture s1\nsync 0\n" + end),
            "capture-unsafe-call definite 3<2 (it synchronises a stream, which only a relaxed capture allows)");
  EXPECT_EQ(reported("stream s1\ncapture s1 relaxed\nquery 0\n" + end),
            "capture-unsafe-call definite 3<2 (it asks about the default stream)");
}

TEST(Syncs, DeviceWide) {
  EXPECT_EQ(reported_all("stream s1\nlaunch k s1\ndevice"), "device-wide-sync definite 3<2");
  EXPECT_EQ(reported_all("stream s1\nstream s2\nlaunch k s1\nlaunch k s2\ndevice"),
            "device-wide-sync definite 5 ('s1' and 's2')");
  EXPECT_EQ(reported_all("stream s1\nlaunch k s1\nlaunch k 0\nlaunch k ?\ndevice"), "");
  EXPECT_EQ(reported_all("stream s1\nlaunch k s1\nmaysync\ndevice"), "");
  EXPECT_EQ(reported_all("launch k 0\ndevice"), "");
}

TEST(Syncs, Redundant) {
  EXPECT_EQ(reported_all("stream s1\nlaunch k s1\nsync s1\nsync s1"), "redundant-sync definite 4<3");
  EXPECT_EQ(reported_all("stream s1\nlaunch k s1\nsync s1\nlaunch k s1\nsync s1"), "");
  EXPECT_EQ(reported_all("stream s1\nstream s2\nlaunch k s1\nsync s1\nlaunch k s2\nsync s1"),
            "redundant-sync definite 6<4");
  EXPECT_EQ(reported_all("stream s1\nevent e\nlaunch k s1\nrecord e s1\nsync s1\nsyncevent e"),
            "redundant-sync definite 6<5");
  EXPECT_EQ(reported_all("stream s1\nevent e\nlaunch k s1\nsync s1\nrecord e s1\nsyncevent e"), "");
  EXPECT_EQ(reported_all("launch k 0\ndevice\nsync 0"), "redundant-sync definite 3<2");
  EXPECT_EQ(reported_all("launch k 0\ndevice\nmaysync\nsync 0"), "");
  EXPECT_EQ(reported_all("stream s1\nlaunch k s1\ngoto A B\nA:\nsync s1\nB:\nsync s1"), "");
}

TEST(Syncs, RedundantBeforeASynchronousCopy) {
  EXPECT_EQ(reported_all("alloc d\nalloc h pinned\nlaunch k 0 w:d\nsync 0\ncopy 0 h d d2h sync"),
            "redundant-sync definite 4");
  EXPECT_EQ(reported_all("alloc d\nalloc h pinned\nlaunch k 0 w:d\nsync 0\n\n\ncopy 0 h d d2h sync"), "");
  EXPECT_EQ(reported_all("alloc d\nalloc d2\nlaunch k 0 w:d\nsync 0\ncopy 0 d2 d sync"), "");
}

TEST(Syncs, AfterACopyFromPageableMemoryTheCopyMayStillRun) {
  EXPECT_EQ(reported_all("alloc d\nalloc h pageable\ncopy 0 d h h2d sync\nsync 0"), "");
  EXPECT_EQ(reported_all("alloc d\nalloc h pinned\ncopy 0 d h h2d sync\nsync 0"), "redundant-sync definite 4<3");
}

TEST(Syncs, PageableCopy) {
  EXPECT_EQ(reported_all("stream s1\nalloc d\nalloc h pageable\ncopy s1 d h h2d\nsync s1"),
            "pageable-async-copy definite 4");
  EXPECT_EQ(reported_all("stream s1\nalloc d\nalloc h pinned\ncopy s1 d h h2d\nsync s1"), "");
}

TEST(Syncs, SelfWait) {
  EXPECT_EQ(reported_all(kTwo + "record e s1\nwait s1 e"), "self-wait definite 5<4");
  EXPECT_EQ(reported_all(kTwo + "record e s1\nwait s2 e"), "");
}

TEST(Handles, RerecordInALoop) {
  const std::string head = "stream s1 nonblocking\nstream s2 nonblocking\nevent e\n";
  // The first iteration has nothing to lose, the others have.
  const auto loop = [&](const std::string& body) { return head + "loop L:\ngoto B X\nB:\n" + body; };
  EXPECT_EQ(reported(loop("record e s1\nrecord e s2\ngoto L\nX:\nsyncevent e")), "event-rerecord definite 8<7");
  EXPECT_EQ(reported(loop("record e s1\nsyncevent e\nrecord e s2\nsyncevent e\ngoto L\nX:\nsyncevent e")), "");
  // On one path only, and on which may be known to the program.
  EXPECT_EQ(reported(head + "goto B C\nB:\nrecord e s1\ngoto C\nC:\nrecord e s2\nsyncevent e"), "");
}

TEST(Handles, RerecordOfAnElementInALoop) {
  const std::string array =
      "fresh i\nloop C:\nfor i c cx\nc:\nstream streams[i] nonblocking\nevent ev[i]\nfresh i\ngoto C\ncx:\n";
  const auto fork = [&](const std::string& body) {
    return array + "fresh j\nloop L:\nfor j B X\nB:\n" + body + "goto N\nN:\nfresh j\ngoto L\nX:\nsyncevent ev[0]";
  };
  EXPECT_EQ(reported(fork("record ev[0] streams[j]\n")), "event-rerecord definite 14<14");
  EXPECT_EQ(reported(fork("record ev[0] streams[j]\nsyncevent ev[0]\n")), "");
  EXPECT_EQ(reported(fork("record ev[0] streams[j]\nsync streams[j]\n")), "");
  EXPECT_EQ(reported(fork("record ev[0] streams[1]\n")), "");
}

TEST(Handles, RerecordLosesNothingThatIsOrdered) {
  EXPECT_EQ(reported(kTwo + "record e s1\nsync s1\nrecord e s2\nsyncevent e"), "");
  EXPECT_EQ(reported(kTwo + "event e2\nrecord e s1\nrecord e2 s1\nwait s2 e2\nrecord e s2\nsyncevent e"), "");
}

TEST(Handles, EventOfAnotherDevice) {
  const auto on = [](const std::string& first, const std::string& second) {
    return reported("setdevice " + first + "\nevent e\nsetdevice " + second +
                    "\nstream s1\nstream s2\nrecord e s1\nwait s2 e\n");
  };
  EXPECT_EQ(on("0", "1"), "event-wait-without-record definite 7 event-never-recorded (another device)");
  EXPECT_EQ(on("0", "0"), "");
  EXPECT_EQ(on("", "1"), "");
  EXPECT_EQ(on("0", ""), "");
  // Restored, or perhaps restored, in between.
  EXPECT_EQ(reported("setdevice 0\nevent e\nsetdevice 1\nsetdevice 0\nstream s1\nrecord e s1\nsyncevent e"), "");
  EXPECT_EQ(reported("setdevice 0\nevent e\nsetdevice 1\nmaysync\nstream s1\nrecord e s1\nsyncevent e"), "");
  EXPECT_EQ(
      reported("setdevice 0\nevent e\ngoto A B\nA:\nsetdevice 1\ngoto B\nB:\nstream s1\nrecord e s1\nsyncevent e"), "");
}

TEST(Handles, SynchronisationsOfTwoDevices) {
  EXPECT_EQ(reported_all("device\nsetdevice 1\ndevice"), "");
  EXPECT_EQ(reported_all("setdevice 1\ndevice\nsetdevice 1\ndevice"), "redundant-sync definite 4<2");
  EXPECT_EQ(reported_all("launch k 0\nsync 0\nsetdevice 1\nsync 0"), "");
  EXPECT_EQ(reported_all("stream s1\nsetdevice 1\ndevice\nsync s1"), "");
  EXPECT_EQ(reported_all("setdevice 1\nstream s1\ndevice\nsync s1"), "redundant-sync definite 4<3");
  EXPECT_EQ(reported_all("stream s1\nlaunch k s1\nsetdevice 1\ndevice"), "");
  EXPECT_EQ(reported_all("setdevice 1\nstream s1\nlaunch k s1\ndevice"), "device-wide-sync definite 4<3");
  EXPECT_EQ(reported_all("event e\nrecord e 0\nsetdevice 1\nstream s1\nrecord e s1\nsetdevice 0\ndevice\nsyncevent e"),
            "");
}

TEST(Handles, WhatALibraryWaitsFor) {
  EXPECT_EQ(reported_all("stream s1\nlaunch k s1\nlibsync s1\nsync s1"), "");
  EXPECT_EQ(reported_all("stream s1\nstream s2\nlaunch k s1\nlibsync s1\nlaunch k s2\ndevice"),
            "device-wide-sync definite 6 ('s1' and 's2')");
  EXPECT_EQ(reported("stream s1\ncapture s1\nlibsync s1\nendcapture s1"), "");
  EXPECT_EQ(reported("stream s1\ncapture s1\nsync s1\nendcapture s1"),
            "capture-unsafe-call definite 3<2 (it synchronises a stream whose work is not running)");
  // It is over all the same.
  EXPECT_EQ(reported("alloc h pinned\nalloc d\nstream s1\ncopy s1 h d d2h\nlibsync s1\nhost r:h"), "");
}

TEST(Handles, ExchangedCaptureMode) {
  const std::string head = "stream s1 nonblocking\ncapture s1\n", end = "endcapture s1";
  EXPECT_EQ(reported(head + "alloc d\n" + end), "capture-unsafe-call definite 3<2 (it may synchronise the device)");
  EXPECT_EQ(reported(head + "swapmode &i\nalloc d\nswapmode &i\n" + end), "");
  EXPECT_EQ(reported(head + "swapmode &i\nswapmode &i\nalloc d\n" + end),
            "capture-unsafe-call definite 5<2 (it may synchronise the device)");
  EXPECT_EQ(reported(head + "swapmode &i\nswapmode &n\nalloc d\n" + end), "");
  EXPECT_EQ(reported(head + "swapmode ?\nswapmode ?\nalloc d\n" + end), "");
  EXPECT_EQ(reported(head + "goto A B\nA:\nswapmode &i\ngoto B\nB:\nalloc d\n" + end), "");
  // Refused in any mode.
  EXPECT_EQ(reported(head + "swapmode &i\nsync s1\n" + end),
            "capture-unsafe-call definite 4<2 (it synchronises a stream whose work is not running)");
}

}  // namespace
}  // namespace streamsan::analyzer::testing
