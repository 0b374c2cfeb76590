// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams are those of recorder_stub.cpp: odd handles are non-blocking.
#include "interposer/contention.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "interposer/fork.h"
#include "interposer/host/host_memory.h"
#include "trace/format.h"

namespace streamsan::recorder {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kBuffer = 0x7f00'0000'0000, kOther = kBuffer + 8 * kMiB, kHostBuffer = kBuffer + 16 * kMiB;
constexpr StreamArgument kOne{101, 0, 0}, kTwo{103, 0, 0}, kThree{105, 0, 0};  // non-blocking
constexpr StreamArgument kBlocking{100, 0, 0}, kBlockingToo{102, 0, 0}, kLegacy{trace::kLegacyStream, 7, 0};
constexpr std::uint64_t kEvent = 0x1000, kLater = 0x1010;

class Contention : public ::testing::Test {
 protected:
  Contention() {
    in_child::contention();
    follow_contention();
    memory_given(kBuffer, 4 * kMiB, false);
    memory_given(kOther, 4 * kMiB, false);
    memory_given(kHostBuffer, 4 * kMiB, true);
  }
  ~Contention() override { in_child::contention(); }

  static bool launch(const StreamArgument& stream, std::initializer_list<std::uint64_t> addresses = {kBuffer + 64}) {
    const std::vector<std::uint64_t> words(addresses);
    return launch_contends(stream, words.data(), static_cast<unsigned>(words.size()));
  }
};

TEST_F(Contention, OneStreamContendsWithNobody) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(launch(kOne));
  EXPECT_FALSE(several_streams());
}

TEST_F(Contention, TwoStreamsOnOneBufferContend) {
  EXPECT_FALSE(launch(kOne));
  EXPECT_FALSE(several_streams());
  EXPECT_TRUE(launch(kTwo)) << "this launch is the one to measure";
  EXPECT_TRUE(several_streams());
  EXPECT_TRUE(launch(kOne)) << "and what uses the buffer from then on";
  EXPECT_TRUE(launch(kTwo, {kOther, kBuffer + 3 * kMiB})) << "wherever in it";
}

TEST_F(Contention, TwoBuffersDoNot) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(launch(kOne, {kBuffer}));
    EXPECT_FALSE(launch(kTwo, {kOther}));
  }
}

TEST_F(Contention, AnEventOrders) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(launch(kOne)) << i;
    event_recorded_in(kEvent, kOne);
    stream_waits(kTwo, kEvent);
    EXPECT_FALSE(launch(kTwo)) << i;
    event_recorded_in(kLater, kTwo);
    stream_waits(kOne, kLater);
  }
  EXPECT_FALSE(launch(kOne));
  EXPECT_TRUE(launch(kTwo)) << "this time nobody waited";
}

TEST_F(Contention, AnEventCoversWhatWasThereWhenItWasRecorded) {
  event_recorded_in(kEvent, kOne);
  EXPECT_FALSE(launch(kOne));
  stream_waits(kTwo, kEvent);
  EXPECT_TRUE(launch(kTwo));
}

TEST_F(Contention, OrderGoesOnThroughAThirdStream) {
  EXPECT_FALSE(launch(kOne));
  event_recorded_in(kEvent, kOne);
  stream_waits(kThree, kEvent);
  event_recorded_in(kLater, kThree);
  stream_waits(kTwo, kLater);
  EXPECT_FALSE(launch(kTwo));
}

TEST_F(Contention, AnEventMadeAnewHasNotBeenRecorded) {
  EXPECT_FALSE(launch(kOne));
  event_recorded_in(kEvent, kOne);
  event_made_or_gone(kEvent);
  stream_waits(kTwo, kEvent);
  EXPECT_TRUE(launch(kTwo));
}

TEST_F(Contention, TheHostsWaitsOrder) {
  EXPECT_FALSE(launch(kOne));
  host_waited_for_stream(kOne);
  EXPECT_FALSE(launch(kTwo));
  event_recorded_in(kEvent, kTwo);
  host_waited_for_event(kEvent);
  EXPECT_FALSE(launch(kOne));
  host_waited_for_context(7);
  EXPECT_FALSE(launch(kTwo));
  host_waited_for_context(8);
  EXPECT_TRUE(launch(kOne)) << "of another context";
}

TEST_F(Contention, TheLegacyStreamOrdersTheBlockingOnes) {
  EXPECT_FALSE(launch(kBlocking));
  EXPECT_FALSE(launch(kLegacy));
  EXPECT_FALSE(launch(kBlockingToo)) << "by way of the legacy stream";
  EXPECT_FALSE(launch(kLegacy));
  EXPECT_TRUE(launch(kOne)) << "not the non-blocking ones";
}

TEST_F(Contention, BlockingStreamsAmongThemselvesAreNotOrdered) {
  EXPECT_FALSE(launch(kBlocking));
  EXPECT_TRUE(launch(kBlockingToo));
}

TEST_F(Contention, ACopyCountsLikeALaunch) {
  operation_submitted(kOne, kBuffer, 0);
  EXPECT_TRUE(launch(kTwo));
}

TEST_F(Contention, TwoCopiesThatReadDoNotContend) {
  operation_submitted(kOne, kOther, 0);
  host_waited_for_stream(kOne);
  operation_submitted(kOne, 0, kOther);
  operation_submitted(kTwo, 0, kOther);
  EXPECT_FALSE(launch(kTwo, {kOther}));
  operation_submitted(kOne, 0, kOther);
  EXPECT_TRUE(launch(kTwo, {kOther})) << "a kernel may write";
}

TEST_F(Contention, WhatTheHostCanTouchContendsAlways) {
  EXPECT_TRUE(launch(kOne, {kHostBuffer}));
  EXPECT_FALSE(launch(kOne));
}

TEST_F(Contention, UnknownAddressesDoNot) { EXPECT_FALSE(launch(kOne, {0x1234'5678'0000, 0, ~std::uint64_t{0}})); }

TEST_F(Contention, TooManyStreamsAreTakenForContending) {
  for (std::uint64_t handle = 1001; handle < 1101; handle += 2) launch({handle, 0, 0}, {});
  EXPECT_TRUE(launch(kOne));
}

TEST_F(Contention, AWarpWithMemoryOfTheHostMayPoll) {
  alignas(4096) static std::uint64_t flag[512];
  const auto address = reinterpret_cast<std::uint64_t>(flag);
  EXPECT_FALSE(launch_may_poll(&address, 1, 1)) << "not known to CUDA";
  host_memory_given(ordering::MemoryKind::Pinned, address, sizeof flag, 7);
  EXPECT_TRUE(launch_may_poll(&address, 1, 1));
  EXPECT_TRUE(launch_may_poll(&address, 1, 32));
  EXPECT_FALSE(launch_may_poll(&address, 1, 33));
  EXPECT_FALSE(launch_may_poll(&kBuffer, 1, 1));

  EXPECT_FALSE(is_polled());
  launch(kOne);
  polling_launched(kOne);
  EXPECT_TRUE(is_polled());
  host_waited_for_stream(kTwo);
  EXPECT_TRUE(is_polled()) << "another stream";
  host_waited_for_stream(kOne);
  EXPECT_FALSE(is_polled());
  host_memory_going(address);
}

TEST_F(Contention, TwoStreamsThatAreMadeAreSeveral) {
  EXPECT_FALSE(several_streams());
  stream_made();
  EXPECT_FALSE(several_streams());
  stream_made();
  EXPECT_TRUE(several_streams());
}

TEST_F(Contention, NothingIsFollowedBeforeItIsAskedFor) {
  in_child::contention();
  EXPECT_FALSE(launch(kOne));
  EXPECT_FALSE(launch(kTwo));
}

}  // namespace
}  // namespace streamsan::recorder
