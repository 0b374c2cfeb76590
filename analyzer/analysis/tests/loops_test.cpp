// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops: arrays of streams, events and buffers, fork and join, double buffering, objects made in every iteration.
#include <gtest/gtest.h>

#include "analyzer/analysis/tests/script.h"

namespace streamsan::analyzer::testing {
namespace {

/// Four streams in an array, made in a loop.
const std::string kArray =
    "alloc d\nfresh i\nloop C:\ngoto c cx\nc:\nstream streams[i] nonblocking\nevent ev[i]\nfresh i\ngoto C\ncx:\n";

TEST(Loops, SingleBufferNextIteration) {
  const std::string head = "stream s1 nonblocking\nstream s2 nonblocking\nevent e\nevent e2\nalloc d\nalloc h pinned\n";
  EXPECT_EQ(
      reported(head + "loop L:\ngoto B X\nB:\ncopy s1 d h h2d\nrecord e s1\nwait s2 e\nlaunch k s2 r:d\ngoto L\nX:"),
      "cross-stream-race definite 10<13 other-iteration");
  EXPECT_EQ(
      reported(head + "loop L:\ngoto B X\nB:\nwait s1 e2\ncopy s1 d h h2d\nrecord e s1\nwait s2 e\nlaunch k s2 r:d\n"
                      "record e2 s2\ngoto L\nX:"),
      "");
}

TEST(Loops, ElementsOfOtherIterationsAreOthers) {
  EXPECT_EQ(reported("stream s1 nonblocking\nstream s2 nonblocking\nfresh i\nloop L:\ngoto B X\nB:\n"
                     "launch p s1 w:dbuf[i]\nlaunch q s2 r:dbuf[i]\nfresh i\ngoto L\nX:"),
            "cross-stream-race definite 8<7");
  EXPECT_EQ(reported("stream s1 nonblocking\nstream s2 nonblocking\nevent e\nfresh i\nloop L:\ngoto B X\nB:\n"
                     "launch p s1 w:dbuf[i]\nrecord e s1\nwait s2 e\nlaunch q s2 r:dbuf[i]\nfresh i\ngoto L\nX:"),
            "");
}

TEST(Loops, ForkWithoutJoin) {
  EXPECT_EQ(reported(kArray + "fresh i\nloop L:\ngoto B X\nB:\nlaunch p streams[i] w:d\nfresh i\ngoto L\nX:\n"
                              "stream s\nlaunch q s r:d"),
            "cross-stream-race definite 20<15");
}

TEST(Loops, ForkAndJoinBySynchronisation) {
  EXPECT_EQ(reported(kArray + "fresh i\nloop L:\ngoto B X\nB:\nlaunch p streams[i] w:d\nfresh i\ngoto L\nX:\n"
                              "fresh j\nfresh i\nloop M:\ngoto D Y\nD:\nsync streams[i]\nfresh i\ngoto M\nY:\n"
                              "stream s\nlaunch q s r:d"),
            "");
}

TEST(Loops, ForkAndJoinByEvents) {
  const std::string fork = kArray + "stream s\nfresh i\nloop L:\ngoto B X\nB:\nlaunch p streams[i] w:d\n";
  EXPECT_EQ(reported(fork + "record ev[i] streams[i]\nwait s ev[i]\nfresh i\ngoto L\nX:\nlaunch q s r:d"), "");
  EXPECT_EQ(reported(fork + "record ev[i] streams[i]\nfresh i\ngoto L\nX:\nlaunch q s r:d"),
            "cross-stream-race definite 21<16");
}

TEST(Loops, StreamsOfTwoIterationsAreTwo) {
  const std::string created =
      "alloc d\nfresh i\nloop C:\nfor i c cx\nc:\nstream streams[i] nonblocking\nfresh i\ngoto C\n";
  const auto used = [](const std::string& stream) {
    return "cx:\nfresh j\nloop L:\nfor j B X\nB:\nlaunch p " + stream + " rw:d\ngoto N\nN:\nfresh j\ngoto L\nX:\n";
  };
  EXPECT_EQ(reported(created + used("streams[j]")), "cross-stream-race definite 14<14 other-iteration");
  EXPECT_EQ(reported(created + used("streams[0]")), "");
  EXPECT_EQ(reported(created + used("streams[k]")), "");
  // In the body: two values of j may be one after the next step.
  EXPECT_EQ(reported(created + "cx:\nfresh j\nloop L:\nfor j B X\nB:\nlaunch p streams[j] rw:d\nfresh j\nmaysync\n"
                               "goto L\nX:\n"),
            "");
  // All over again in an outer loop.
  EXPECT_EQ(reported(created + "cx:\nloop O:\ngoto I Z\nI:\nfresh j\nloop L:\nfor j B X\nB:\nlaunch p streams[j] rw:d\n"
                               "goto N\nN:\nfresh j\ngoto L\nX:\ngoto O\nZ:\n"),
            "");
  // One stream stored in all elements.
  EXPECT_EQ(reported("alloc d\nstream s0\nfresh i\nloop C:\nfor i c cx\nc:\nassign streams[i] s0\nfresh i\ngoto C\n" +
                     used("streams[j]")),
            "");
}

TEST(Loops, BufferThatIsNullAtFirst) {
  const auto grows = [](const std::string& before) {
    return "param s\nassign d null\nloop L:\ngoto B X\nB:\ngoto G U\nG:\n" + before +
           "free d\nalloc d\nU:\nlaunch k s w:d\ngoto L\nX:\n";
  };
  EXPECT_EQ(reported(grows("")), "premature-free latent 8<11 other-iteration R-ALC-02");
  EXPECT_EQ(reported(grows("sync s\n")), "");
}

TEST(Loops, ElementsOfAnArrayOfStreamsMayBeOne) {
  EXPECT_EQ(reported(kArray + "launch p streams[i] w:d\nfresh i\nlaunch q streams[i] r:d"), "");
  EXPECT_EQ(reported("stream streams[0]\nstream streams[1]\nalloc d\nlaunch p streams[0] w:d\nlaunch q streams[1] r:d"),
            "cross-stream-race definite 5<4");
  EXPECT_EQ(reported("stream streams[0]\nstream streams[1]\nalloc d\nlaunch p streams[0] w:d\nlaunch q streams[0] r:d"),
            "");
}

TEST(Loops, ParameterArrayAtConstantIndices) {
  EXPECT_EQ(reported("param s array\nparam d\nlaunch p s[0] w:d\nlaunch q s[1] r:d"), "cross-stream-race definite 4<3");
  EXPECT_EQ(reported("param s array\nparam d\nlaunch p s[0] w:d\nlaunch q s[0] r:d"), "");
}

TEST(Loops, DoubleBufferingWithEvents) {
  EXPECT_EQ(
      reported(
          "stream s1 nonblocking\nstream s2 nonblocking\nalloc h pinned\nfresh i\nloop L:\ngoto B X\nB:\nfresh ib\n"
          "wait s1 efree[ib]\ncopy s1 dbuf[ib] h h2d\nrecord eready[ib] s1\nwait s2 eready[ib]\n"
          "launch k s2 r:dbuf[ib]\nrecord efree[ib] s2\nfresh i\ngoto L\nX:"),
      "");
}

TEST(Loops, DoubleBufferingWithoutTheWaitInside) {
  EXPECT_EQ(
      reported(
          "stream s1 nonblocking\nstream s2 nonblocking\nalloc h pinned\nfresh i\nloop L:\ngoto B X\nB:\nfresh ib\n"
          "copy s1 dbuf[ib] h h2d\nrecord eready[ib] s1\nlaunch k s2 r:dbuf[ib]\nfresh i\ngoto L\nX:"),
      "cross-stream-race definite 11<9 event-not-waited-for");
}

TEST(Loops, SwappedBuffers) {
  EXPECT_EQ(reported("stream s1 nonblocking\nstream s2 nonblocking\nalloc da\nalloc db\nloop L:\ngoto B X\nB:\n"
                     "launch p s1 w:da\nlaunch q s2 r:db\nassign dx da\nassign da db\nassign db dx\ngoto L\nX:"),
            "");
}

TEST(Loops, StreamMadeInEachIteration) {
  EXPECT_EQ(
      reported("alloc d\nfresh n\nloop L:\ngoto B X\nB:\nstream s nonblocking\nlaunch p s rw:d args:n\ngoto L\nX:"),
      "cross-stream-race definite 7<7 other-iteration");
  EXPECT_EQ(
      reported(
          "alloc d\nfresh n\nloop L:\ngoto B X\nB:\nstream s nonblocking\nlaunch p s rw:d args:n\nsync s\ngoto L\nX:"),
      "");
  EXPECT_EQ(
      reported("fresh n\nloop L:\ngoto B X\nB:\nalloc d\nstream s nonblocking\nlaunch p s rw:d args:n\ngoto L\nX:"),
      "");
}

TEST(Loops, WaitBeforeTheFirstRecordOfALoop) {
  // In the first iteration nothing is recorded, in the others it is.
  EXPECT_EQ(
      reported("stream s1\nstream s2\nevent e\nloop L:\ngoto B X\nB:\nwait s1 e\nlaunch p s2\nrecord e s2\ngoto L\nX:"),
      "");
  EXPECT_EQ(
      reported("stream s1\nstream s2\nevent e\nevent e2\nloop L:\ngoto B X\nB:\nwait s1 e\nlaunch p s2\nrecord e2 "
               "s2\ngoto L\nX:"),
      "event-wait-without-record definite 8 event-never-recorded");
}

TEST(Loops, EventsOfAnArrayNeverRecorded) {
  EXPECT_EQ(reported(kArray + "stream s\nfresh i\nloop L:\ngoto B X\nB:\nwait s ev[i]\nfresh i\ngoto L\nX:"),
            "event-wait-without-record definite 16 event-never-recorded");
  EXPECT_EQ(
      reported(kArray + "stream s\nrecord ev[0] s\nfresh i\nloop L:\ngoto B X\nB:\nwait s ev[i]\nfresh i\ngoto L\nX:"),
      "");
  EXPECT_EQ(
      reported(kArray + "stream s\nescape &ev[0]\nfresh i\nloop L:\ngoto B X\nB:\nwait s ev[i]\nfresh i\ngoto L\nX:"),
      "");
}

TEST(Loops, ConditionalSynchronisationInALoop) {
  EXPECT_EQ(reported("stream s1\nstream s2\nalloc d\nloop L:\ngoto B X\nB:\nlaunch p s1 w:d\ngoto S T\nS:\nsync "
                     "s1\nT:\nlaunch q s2 r:d\n"
                     "sync s2\ngoto L\nX:"),
            "");
}

TEST(Loops, InnerLoopThatSynchronises) {
  EXPECT_EQ(
      reported("stream s1\nstream s2\nalloc d\nlaunch p s1 w:d\nloop L:\ngoto B X\nB:\nsync s1\ngoto L\nX:\nlaunch q "
               "s2 r:d"),
      "");
}

TEST(Loops, OffsetOfTheIteration) {
  EXPECT_EQ(
      reported("alloc d\nalloc h pinned\nfresh i\nloop L:\ngoto B X\nB:\nstream s nonblocking\ncopy s d+i h+i h2d\n"
               "launch k s rw:d+i\ncopy s h+i d+i d2h\nfresh i\ngoto L\nX:\ndevice\nhost r:h"),
      "");
}

TEST(Loops, TooManyVisitsAreGivenUp) {
  Script script = read("loop L:\ngoto L X\nX:");
  EngineOptions options;
  options.most_block_visits = 2;
  EXPECT_EQ(analyze(script.function, script.program, options).gave_up, "more than 2 block visits");
  EXPECT_EQ(analyze(script.function, script.program).gave_up, "");
}

TEST(Loops, TooManyStepsAreGivenUp) {
  Script script = read("stream s\nalloc d\nloop L:\nlaunch k s w:d\ngoto L X\nX:\nsync s");
  const Verdict whole = analyze(script.function, script.program);
  EXPECT_EQ(whole.gave_up, "");
  EngineOptions options;
  options.most_steps = whole.steps;
  EXPECT_EQ(analyze(script.function, script.program, options).gave_up, "");
  EXPECT_EQ(analyze(script.function, script.program, options).steps, whole.steps);
  options.most_steps = whole.steps / 2;
  EXPECT_EQ(analyze(script.function, script.program, options).gave_up, kNoStepsLeft);
}

TEST(Loops, TooManyAccesses) {
  std::string many = "stream s1\nstream s2\n";
  for (int i = 0; i < 10; ++i) many += "alloc d" + std::to_string(i) + "\nlaunch p s1 w:d" + std::to_string(i) + "\n";
  EngineOptions options;
  options.most_accesses = 5;
  Script script = read(many + "launch q s2 r:d0");
  EXPECT_EQ(analyze(script.function, script.program, options).gave_up, "more than 5 accesses in flight");
  // What was waited for can be dropped.
  script = read(many + "sync s1\ngoto A\nA:\nlaunch q s2 r:d0");
  EXPECT_EQ(analyze(script.function, script.program, options).gave_up, "");
}

}  // namespace
}  // namespace streamsan::analyzer::testing
