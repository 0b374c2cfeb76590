// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool that waits for the events which it records itself when a block comes back (trace::kOwnEvents): which events
// are its own, by call stacks. 0x100.. is the pool's code, of one module.
#include <gtest/gtest.h>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using trace::NonBlocking;
using trace::TraceBuilder;

constexpr std::uint64_t kMain = 0xA0, kSide = 0xB0, kEvent = 0xE0, kSegment = 0x7000'0000;
constexpr std::uint64_t kFree = 0x1200, kInsert = 0x1100, kCaller = 0x5000, kMainFunction = 0x5100, kOther = 0x5200;

class OwnEvents : public testing::Test {
 protected:
  OwnEvents() {
    trace.module("/x/libc10_cuda.so", 0, 0x1000, 0x2000);
    trace.module("/x/program", 0, 0x5000, 0x6000);
    trace.stream_create(kMain, NonBlocking::Yes);
    trace.stream_create(kSide, NonBlocking::Yes);
    trace.event_create(kEvent);
    trace.alloc(kSegment, 1 << 20);
    hand_out(kSegment);
    trace.at({0x5300}).fill_async(kSide, kSegment, 4096);
  }
  void hand_out(std::uint64_t block) {
    trace.at({0x1300, kCaller, kMainFunction})
        .add(trace::Kind::BlockAlloc, "", {block, 4096, kMain, TraceBuilder::kContext}, {}, trace::kOwnEvents);
  }
  void give_back(std::uint64_t block = kSegment) {
    trace.at({kFree, kCaller, kMainFunction})
        .add(trace::Kind::BlockFree, "", {block}, {}, trace::kNoStream | trace::kOwnEvents);
  }
  HazardList found() { return hazards_of(judged(trace).findings); }
  const HazardList kReleased{"release-while-in-use/latent/no-edge"};
  TraceBuilder trace;
};

TEST_F(OwnEvents, AReleaseWithoutAnyIsFound) {
  give_back();
  EXPECT_EQ(found(), kReleased);
  EXPECT_EQ(judged(trace).findings.at(0).buffer->allocator, "PyTorch's allocator");
}

class PutsOff : public OwnEvents {
 protected:
  /// The block goes back, and is handed out again by a pool that does not say for which stream.
  void give_back_and_hand_out() {
    trace.at({kFree, kCaller, kMainFunction})
        .add(trace::Kind::BlockFree, "", {kSegment}, {}, trace::kNoStream | trace::kOwnEvents | trace::kPutsOff);
    if (asks_) trace.sync_event(kEvent);
    trace.at({0x1300, kCaller, kMainFunction}).add(trace::Kind::BlockAlloc, "", {kSegment, 4096}, {}, trace::kNoStream);
  }
  bool asks_ = false;
};

TEST_F(PutsOff, NothingIsComparedAtTheRelease) {
  give_back_and_hand_out();
  EXPECT_EQ(found(), HazardList{});
}

TEST_F(PutsOff, AUseInTheNextLifeIs) {
  give_back_and_hand_out();
  trace.at({0x5400}).fill_async(kMain, kSegment, 4096);
  EXPECT_EQ(found(), HazardList{"reuse-while-in-use/error/no-edge"});
}

TEST_F(PutsOff, WhatTheAllocatorHasWaitedForIsBeforeIt) {
  trace.event_record(kSide, kEvent);
  asks_ = true;
  give_back_and_hand_out();
  trace.at({0x5400}).fill_async(kMain, kSegment, 4096);
  EXPECT_EQ(found(), HazardList{});
}

TEST_F(OwnEvents, AnEventThatIsRecordedInsideOfTheFreeIsWaitedFor) {
  trace.at({0x9000, kInsert, kFree + 16, kCaller, kMainFunction}).event_record(kSide, kEvent);
  give_back();
  EXPECT_EQ(found(), HazardList{});
}

TEST_F(OwnEvents, AnEventOfTheCallersIsNot) {
  trace.at({0x9000, kCaller, kMainFunction}).event_record(kSide, kEvent);
  give_back();
  EXPECT_EQ(found().front(), "release-while-in-use/latent/event-not-waited-for");
}

TEST_F(OwnEvents, AnEventOfAnotherCallIsNot) {
  trace.at({0x9000, kInsert, kFree + 16, kOther, kMainFunction}).event_record(kSide, kEvent);
  give_back();
  EXPECT_EQ(found().front(), "release-while-in-use/latent/event-not-waited-for");
}

TEST_F(OwnEvents, AnEventOfAnotherThreadIsNot) {
  trace.on_thread(2).at({0x9000, kInsert, kFree + 16, kCaller, kMainFunction}).event_record(kSide, kEvent);
  trace.on_thread(1);
  give_back();
  EXPECT_EQ(found().front(), "release-while-in-use/latent/event-not-waited-for");
}

TEST_F(OwnEvents, AnEventCountsForTheFreeThatItWasRecordedIn) {
  hand_out(kSegment + 8192);
  trace.at({0x9000, kInsert, kFree + 16, kCaller, kMainFunction}).event_record(kSide, kEvent);
  give_back(kSegment + 8192);
  give_back();
  EXPECT_EQ(found().front(), "release-while-in-use/latent/event-not-waited-for");
}

TEST_F(OwnEvents, AnEventInAnotherStreamDoesNotHelp) {
  trace.at({0x9000, kInsert, kFree + 16, kCaller, kMainFunction}).event_record(kMain, kEvent);
  give_back();
  EXPECT_EQ(found(), kReleased);
}

}  // namespace
}  // namespace streamsan::judge
