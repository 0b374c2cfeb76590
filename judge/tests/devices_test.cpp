// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs with several devices: where the memory of a copy lies is read from the trace, and reports say of a stream
// which device is meant, if there are several.
#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

constexpr std::uint64_t kHere = 0xc0;
constexpr std::uint64_t kThere = 0xc1;
constexpr std::uint64_t kNear = 0x7000'0000;
constexpr std::uint64_t kFar = 0x8000'0000;
constexpr std::uint64_t kBytes = 4096;
constexpr std::uint64_t kStream = 0x55;

/// Two devices with memory, of which the second one's ordinal is `second`; the first one is current.
trace::TraceBuilder two_contexts(std::uint64_t second) {
  trace::TraceBuilder trace;
  trace.add(trace::Kind::Context, "", {kHere, 0});
  trace.in_context(kHere).alloc(kNear, kBytes);
  trace.add(trace::Kind::Context, "", {kThere, second});
  trace.in_context(kThere).alloc(kFar, kBytes);
  trace.stream_create(kStream, trace::NonBlocking::Yes);
  trace.in_context(kHere);
  return trace;
}

/// Work on the second one, a wait for the first one, and a use there.
Judged wait_for_the_wrong_one(std::uint64_t second) {
  trace::TraceBuilder trace = two_contexts(second);
  trace.in_context(kThere).fill_async(kStream, kFar, kBytes);
  trace.in_context(kHere).sync_context();
  trace.fill_async(trace::kLegacyStream, kFar, kBytes);
  return judged(trace);
}

TEST(TwoDevices, ACopyBetweenThemIsABarrierOfBoth) {
  trace::TraceBuilder trace = two_contexts(1);
  trace.fill_async(trace::kLegacyStream, kNear, kBytes);
  trace.copy("cuMemcpyPeer", trace::kLegacyStream, kFar, kNear, kBytes);
  trace.in_context(kThere).fill_async(trace::kLegacyStream, kFar, kBytes);
  EXPECT_TRUE(judged(trace).findings.empty());
}

TEST(TwoDevices, WithoutOneTheirDefaultStreamsRaceAndAreToldApart) {
  trace::TraceBuilder trace = two_contexts(1);
  trace.fill_async(trace::kLegacyStream, kNear, kBytes);
  trace.in_context(kThere).fill_async(trace::kLegacyStream, kNear, kBytes);
  const Judged out = judged(trace);
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_EQ(out.findings[0].accesses[0].stream.name, "the legacy default stream of device 1");
  EXPECT_EQ(out.findings[0].accesses[1].stream.name, "the legacy default stream of device 0");
}

TEST(TwoDevices, SoAreStreamsThatTheProgramMade) {
  trace::TraceBuilder trace = two_contexts(3);
  trace.name_stream(kStream, "uploads");
  trace.fill_async(kStream, kNear, kBytes);
  trace.fill_async(trace::kPerThreadStream, kNear, kBytes);
  const Judged out = judged(trace);
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_EQ(out.findings[0].accesses[0].stream.name, "the per-thread default stream of thread 1 of device 0");
  EXPECT_EQ(out.findings[0].accesses[1].stream.name, "stream \"uploads\" of device 3");
}

TEST(TwoDevices, AlsoOfWhatWasFoundBeforeTheSecondOneWasMet) {
  trace::TraceBuilder trace;
  trace.add(trace::Kind::Context, "", {kHere, 0});
  trace.in_context(kHere).alloc(kNear, kBytes);
  trace.stream_create(kStream, trace::NonBlocking::Yes);
  trace.fill_async(trace::kLegacyStream, kNear, kBytes);
  trace.fill_async(kStream, kNear, kBytes);
  const auto streams = [&] {
    const Judged out = judged(trace);
    EXPECT_EQ(out.findings.size(), 1u);
    return out.findings[0].accesses[0].stream.name + ", " + out.findings[0].accesses[1].stream.name;
  };
  EXPECT_EQ(streams(), "stream 1, the legacy default stream");
  trace.add(trace::Kind::Context, "", {kThere, 1});
  EXPECT_EQ(streams(), "stream 1 of device 0, the legacy default stream of device 0");
}

TEST(TwoDevices, WithOneDeviceNobodyNeedsItsName) {
  trace::TraceBuilder trace = two_contexts(0);
  trace.fill_async(trace::kLegacyStream, kNear, kBytes);
  trace.fill_async(kStream, kNear, kBytes);
  const Judged out = judged(trace);
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_EQ(out.findings[0].accesses[0].stream.name, "stream 1");
  EXPECT_EQ(out.findings[0].accesses[1].stream.name, "the legacy default stream");
}

TEST(TwoDevices, AWaitForTheOtherOneIsReported) {
  const Judged out = wait_for_the_wrong_one(3);
  ASSERT_EQ(hazards_of(out.findings), std::vector<std::string>{"write-after-write/error/other-device"});
  EXPECT_NE(out.findings[0].explanation.find(" waits for all work of device 0, and "), std::string::npos);
  EXPECT_TRUE(out.findings[0].explanation.ends_with(" runs on device 3.")) << out.findings[0].explanation;
  ASSERT_EQ(out.findings[0].related.size(), 1u) << "the wait";
}

TEST(TwoDevices, TwoContextsOfOneAreCalledContexts) {
  const Judged out = wait_for_the_wrong_one(0);
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_NE(out.findings[0].explanation.find(" waits for all work of the current context, and "), std::string::npos);
  EXPECT_TRUE(out.findings[0].explanation.ends_with(" runs in another context.")) << out.findings[0].explanation;
  EXPECT_TRUE(out.findings[0].fix.starts_with("make the context of stream 1 current before ")) << out.findings[0].fix;
}

TEST(TwoDevices, NotOfOneThatWasMadeBefore) {
  trace::TraceBuilder trace = two_contexts(3);
  trace.in_context(kHere).sync_context();
  trace.in_context(kThere).fill_async(kStream, kFar, kBytes);
  trace.in_context(kHere).fill_async(trace::kLegacyStream, kFar, kBytes);
  EXPECT_EQ(judged(trace).findings[0].cause, report::Cause::NoEdge);
}

TEST(TwoDevices, AFreeWaitsForTheDeviceOfTheMemory) {
  trace::TraceBuilder trace = two_contexts(1);
  trace.fill_async(kStream, kFar, kBytes);
  trace.free(kFar, trace::FreeKind::Device);
  EXPECT_EQ(hazards_of(judged(trace).findings), std::vector<std::string>{"free-while-in-use/latent/no-edge"});
  trace = two_contexts(1);
  trace.fill_async(kStream, kNear, kBytes);
  trace.free(kNear, trace::FreeKind::Device);
  EXPECT_EQ(hazards_of(judged(trace).findings), std::vector<std::string>{"free-while-in-use/error/no-edge"});
}

}  // namespace
}  // namespace streamsan::judge
