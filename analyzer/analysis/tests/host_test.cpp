// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host against work in flight: reads, writes, ends of memory, frees, tensors.
#include <gtest/gtest.h>

#include "analyzer/analysis/tests/script.h"

namespace streamsan::analyzer::testing {
namespace {

const std::string kPinned = "stream s1 nonblocking\nalloc d\nalloc h pinned\n";

TEST(Host, ReadsAResultTooEarly) {
  EXPECT_EQ(reported(kPinned + "copy s1 h d d2h\nhost r:h"), "host-read-before-done definite 5<4");
  EXPECT_EQ(reported(kPinned + "copy s1 h d d2h\nsync s1\nhost r:h"), "");
  EXPECT_EQ(reported(kPinned + "copy s1 h d d2h\ndevice\nhost r:h"), "");
  EXPECT_EQ(reported(kPinned + "copy 0 h d d2h sync\nhost r:h"), "");
}

TEST(Host, ReadsAnElement) {
  EXPECT_EQ(reported(kPinned + "copy s1 h d d2h\nhost r:h+i"), "");
  EXPECT_EQ(reported_all(kPinned + "copy s1 h d d2h\nhost r:h+i"), "host-read-before-done maybe 5<4");
  EXPECT_EQ(reported(kPinned + "copy s1 h d d2h 64\nhost r:h+100"), "");
  EXPECT_EQ(reported(kPinned + "copy s1 h+n d d2h\nhost r:h+i"), "");
}

TEST(Host, ReadsAnotherPart) {
  EXPECT_EQ(reported_all(kPinned + "copy s1 h d d2h n*4\nhost r:h+n@4"), "");
  EXPECT_EQ(reported(kPinned + "copy s1 h d d2h n*4\nhost r:h+3@4"), "host-read-before-done definite 5<4");
  EXPECT_EQ(reported(kPinned + "copy s1 h d d2h n*4\nhost r:h+i@4"), "");
  EXPECT_EQ(reported(kPinned + "copy s1 h d d2h n*4\nhost r:h+64@4"), "");
  EXPECT_EQ(reported(kPinned + "launch k s1 w:h\nhost r:h+255@4"), "host-read-before-done definite 5<4");
  EXPECT_EQ(reported(kPinned + "launch k s1 w:h\nhost r:h+1024@4"), "");
  EXPECT_EQ(reported(kPinned + "launch k s1 w:h\nhost r:h+i@4"), "");
  EXPECT_EQ(reported(kPinned + "launch k s1 w:h\nhost r:h+i*n@4"), "");
}

TEST(Host, ReadsWhatIsOnlyRead) {
  EXPECT_EQ(reported(kPinned + "copy s1 d h h2d\nhost r:h"), "");
  EXPECT_EQ(reported(kPinned + "copy s1 d h h2d\nhost w:h"), "host-write-before-done definite 5<4");
  EXPECT_EQ(reported(kPinned + "copy s1 d h h2d\nsync s1\nhost w:h"), "");
}

TEST(Host, TouchesDeviceMemoryByACallOnly) {
  Script script = read("stream s1 nonblocking\nalloc d\nlaunch k s1 w:d\nhost r:d");
  EXPECT_EQ(reported(script), "");
  script.function.blocks[0].ops.back().name = "MPI_Send";
  EXPECT_EQ(reported(script), "host-read-before-done definite 4<3");
  script = read("stream s1 nonblocking\nalloc d\nlaunch k s1 w:d\nsync s1\nhost r:d");
  script.function.blocks[0].ops.back().name = "MPI_Send";
  EXPECT_EQ(reported(script), "");
}

TEST(Host, SynchronisesTheWrongThing) {
  EXPECT_EQ(reported(kPinned + "stream s2\ncopy s1 h d d2h\nsync s2\nhost r:h"),
            "host-read-before-done definite 7<5 other-stream-synchronised");
  EXPECT_EQ(reported(kPinned + "event e\nrecord e s1\ncopy s1 h d d2h\nsyncevent e\nhost r:h"),
            "host-read-before-done definite 8<6 event-recorded-too-early");
  EXPECT_EQ(reported(kPinned + "event e\ncopy s1 h d d2h\nrecord e s1\nsyncevent e\nhost r:h"), "");
  EXPECT_EQ(reported(kPinned + "event e\ncopy s1 h d d2h\nrecord e s1\nhost r:h\nsyncevent e"),
            "host-read-before-done definite 7<5 event-not-waited-for");
}

TEST(Host, SynchronisesTheDefaultStream) {
  EXPECT_EQ(reported(kPinned + "copy s1 h d d2h\nsync 0\nhost r:h"),
            "host-read-before-done definite 6<4 other-stream-synchronised");
  EXPECT_EQ(reported("stream s1\nalloc d\nalloc h pinned\ncopy s1 h d d2h\nsync 0\nhost r:h"), "");
}

TEST(Host, UsesMemoryAfterItsFreeInTheSameStream) {
  const std::string head = "stream s1 nonblocking\nalloc d async s1\n";
  EXPECT_EQ(reported(head + "freeasync d s1\nlaunch k s1 r:d"), "premature-free definite 4<3 (use after free)");
  EXPECT_EQ(reported(head + "launch k s1 r:d\nfreeasync d s1"), "");
  EXPECT_EQ(reported(head + "freeasync d s1\nalloc d async s1\nlaunch k s1 r:d"), "");
  EXPECT_EQ(reported(head + "freeasync d s1\nsync s1\nlaunch k s1 r:d"),
            "premature-free definite 5<3 (use after free)");
  // Freed on one path only: whoever frees there may test for it here.
  EXPECT_EQ(reported(head + "goto A B\nA:\nfreeasync d s1\nB:\nlaunch k s1 r:d"), "");
}

TEST(Host, AStreamParameterIsEnough) {
  EXPECT_EQ(reported("param s\nparam d\nalloc h pinned\ncopy s h d d2h\nhost r:h"),
            "host-read-before-done definite 5<4");
}

TEST(Host, PageableMemoryIsLatent) {
  EXPECT_EQ(reported("stream s1\nalloc d\nalloc h pageable\ncopy s1 h d d2h\nhost r:h"),
            "host-read-before-done latent 5<4 R-CPY-14");
  EXPECT_EQ(reported("stream s1\nalloc d\ncopy s1 &h d d2h\nhost r:&h"), "host-read-before-done latent 4<3 R-CPY-14");
  EXPECT_EQ(reported("stream s1\nalloc d\nalloc h pageable\ncopy s1 d h h2d\nhost w:h"),
            "host-write-before-done latent 5<4 R-CPY-13");
  EXPECT_EQ(reported("stream s1\nalloc d\nalloc h pageable\ncopy s1 d h h2d\nsync s1\nhost w:h"), "");
}

TEST(Host, UnknownHostMemoryIsLatent) {
  EXPECT_EQ(reported("param h\nstream s1\nalloc d\ncopy s1 h d d2h\nhost r:h"),
            "host-read-before-done latent 5<4 R-CPY-14");
}

TEST(Host, RegisteredMemoryIsPinned) {
  EXPECT_EQ(reported("stream s1\nalloc d\nalloc h pageable\nalloc h registered\ncopy s1 h d d2h\nhost r:h"),
            "host-read-before-done definite 6<5");
}

TEST(Host, SynchronousCopiesStageTheirSource) {
  EXPECT_EQ(reported("alloc d\nalloc h pageable\ncopy 0 d h h2d sync\nhost w:h"), "");
  EXPECT_EQ(reported("param h\nalloc d\ncopy 0 d h h2d sync\nhost w:h"), "");
  EXPECT_EQ(reported("param h\nalloc d\ncopy 0 h d d2h sync\nhost r:h"), "");
}

TEST(Host, ManagedMemory) {
  EXPECT_EQ(reported("alloc d managed\nlaunch k 0 w:d\nhost r:d"), "host-read-before-done definite 3<2");
  EXPECT_EQ(reported("alloc d managed\nlaunch k 0 w:d\ndevice\nhost r:d"), "");
  EXPECT_EQ(reported("alloc d managed\nlaunch k 0 r:d\nhost w:d"), "host-write-before-done definite 3<2");
  EXPECT_EQ(reported("alloc d managed\nlaunch k 0 r:d\nhost r:d"), "");
}

TEST(Host, DeviceMemoryIsNotTouchedByTheHost) { EXPECT_EQ(reported("alloc d\nlaunch k 0 w:d\nhost r:d"), ""); }

TEST(Host, RingOfStagingBuffers) {
  EXPECT_EQ(reported(kPinned + "fresh i\nloop L:\ngoto B X\nB:\nhost w:h\ncopy s1 d h h2d\nfresh i\ngoto L\nX:"),
            "host-write-before-done definite 8<9 other-iteration");
  EXPECT_EQ(
      reported(kPinned + "fresh i\nloop L:\ngoto B X\nB:\nhost w:h\ncopy s1 d h h2d\nsync s1\nfresh i\ngoto L\nX:"),
      "");
  EXPECT_EQ(
      reported("stream s1\nalloc d\nfresh i\nloop L:\ngoto B X\nB:\nfresh ib\nsyncevent efree[ib]\nhost w:hbuf[ib]\n"
               "copy s1 d hbuf[ib] h2d\nrecord efree[ib] s1\nfresh i\ngoto L\nX:"),
      "");
}

TEST(Host, LocalEndsWhileItIsCopied) {
  EXPECT_EQ(reported("param s\nparam d\ncopy s d &h h2d\nend &h"), "async-copy-lifetime latent 4<3 R-CPY-13");
  EXPECT_EQ(reported("param s\nparam d\ncopy s d &h h2d\nsync s\nend &h"), "");
  EXPECT_EQ(reported("param s\nparam d\ncopy s &h d d2h\nend &h"), "async-copy-lifetime latent 4<3 R-CPY-14");
}

TEST(Host, HeapMemoryEnds) {
  EXPECT_EQ(reported("param s\nparam d\nalloc h pageable\ncopy s d h h2d\ndelete h"),
            "async-copy-lifetime latent 5<4 R-CPY-13");
  EXPECT_EQ(reported("param s\nparam d\nalloc h pageable\ncopy s d h h2d\nsync s\ndelete h"), "");
  EXPECT_EQ(reported("param s\nparam d\nalloc h pinned\ncopy s d h h2d\nend h"), "async-copy-lifetime definite 5<4");
}

TEST(Host, DataOfAHostFunctionEnds) {
  EXPECT_EQ(reported("param s\nhostfn s r:&h\nend &h"), "async-copy-lifetime definite 3<2");
  EXPECT_EQ(reported("param s\nhostfn s r:&h\nsync s\nend &h"), "");
}

TEST(Host, HostFunctionMayTellTheHost) { EXPECT_EQ(reported(kPinned + "copy s1 h d d2h\nhostfn s1\nhost r:h"), ""); }

TEST(Host, PinnedMemoryFreed) {
  EXPECT_EQ(reported(kPinned + "copy s1 d h h2d\nfreehost h"), "premature-free latent 5<4 R-ALC-05");
  EXPECT_EQ(reported(kPinned + "copy s1 d h h2d\nsync s1\nfreehost h"), "");
}

TEST(Host, DeviceMemoryFreed) {
  EXPECT_EQ(reported(kPinned + "launch k s1 w:d\nfree d"), "premature-free latent 5<4 R-ALC-02");
  EXPECT_EQ(reported(kPinned + "launch k s1 w:d\ndevice\nfree d"), "");
}

TEST(Host, FreeWaitsToday) {
  EXPECT_EQ(reported(kPinned + "alloc d2\ncopy s1 h d d2h\nfree d2\nhost r:h"),
            "host-read-before-done latent 7<5 R-ALC-02");
}

TEST(Host, StreamOrderedFree) {
  const std::string head = "stream s1 nonblocking\nstream s2 nonblocking\nalloc d async s1\n";
  EXPECT_EQ(reported(head + "launch k s1 w:d\nfreeasync d s1"), "");
  EXPECT_EQ(reported(head + "event e\nrecord e s1\nwait s2 e\nlaunch k s2 w:d\nfreeasync d s1"),
            "premature-free definite 8<7");
  EXPECT_EQ(reported(head + "event e\nrecord e s1\nwait s2 e\nlaunch k s2 w:d\nrecord e s2\nwait s1 e\nfreeasync d s1"),
            "");
  EXPECT_EQ(reported(head + "launch k s1 w:d\nfree d"), "premature-free definite 5<4");
  EXPECT_EQ(reported(head + "launch k s1 w:d\nsync s1\nfree d"), "");
}

TEST(Host, UseAfterStreamOrderedFree) {
  const std::string head = "stream s1 nonblocking\nstream s2 nonblocking\nalloc d async s1\nsync s1\n";
  EXPECT_EQ(reported(head + "freeasync d s1\nlaunch k s2 w:d"), "premature-free definite 6<5 (use after free)");
  EXPECT_EQ(reported(head + "launch k s2 w:d\nsync s2\nfreeasync d s1"), "");
}

TEST(Host, TensorUsedOnAnotherStream) {
  const std::string head = "stream s1 nonblocking\nstream s2 nonblocking\ntensor t s1\nsync s1\n";
  EXPECT_EQ(reported(head + "launch k s2 w:t\nrelease t s1"), "missing-record-stream definite 6<5");
  EXPECT_EQ(reported(head + "launch k s2 w:t\nkeep t s2\nrelease t s1"), "");
  EXPECT_EQ(reported(head + "keep t s2\nlaunch k s2 w:t\nrelease t s1"), "");
  EXPECT_EQ(reported(head + "launch k s1 w:t\nrelease t s1"), "");
  EXPECT_EQ(reported(head + "event e\nlaunch k s2 w:t\nrecord e s2\nwait s1 e\nrelease t s1"), "");
  EXPECT_EQ(reported(head + "launch k s2 w:t\nsync s2\nrelease t s1"), "");
  EXPECT_EQ(reported(head + "alloc d\nlaunch k s2 w:t\nfree d\nrelease t s1"),
            "missing-record-stream latent 8<6 R-ALC-02");
}

TEST(Host, TensorEndsBeforeItsStreamWaits) {
  const std::string head =
      "stream s1 nonblocking\nstream s2 nonblocking\nevent e\ntensor t s1\nsync s1\nlaunch k s2 w:t\nrecord e s2\n";
  EXPECT_EQ(reported(head + "release t s1\nwait s1 e\ntensor u s1"), "");
  EXPECT_EQ(reported(head + "release t s1\ntensor u s1\nwait s1 e"),
            "missing-record-stream definite 8<6 event-not-waited-for");
  EXPECT_EQ(reported(head + "release t s1\nwait s2 e\ntensor u s1"),
            "missing-record-stream definite 8<6 event-not-waited-for");
  // An event that is not known is none that anything is known of.
  EXPECT_EQ(reported(head + "release t s1\nrecord ? s2\ntensor u s1"),
            "missing-record-stream definite 8<6 event-not-waited-for");
}

TEST(Host, OnePathSynchronises) {
  EXPECT_EQ(reported(kPinned + "copy s1 h d d2h\ngoto A B\nA:\nsync s1\nB:\nhost r:h"), "");
  EXPECT_EQ(reported_all(kPinned + "copy s1 h d d2h\ngoto A B\nA:\nsync s1\nB:\nhost r:h"),
            "host-read-before-done maybe 9<4 only-on-some-paths");
}

}  // namespace
}  // namespace streamsan::analyzer::testing
