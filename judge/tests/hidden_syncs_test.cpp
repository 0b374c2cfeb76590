// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/hidden_syncs.h"

#include <gtest/gtest.h>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using ordering::MemoryKind;
using trace::HostWaitsState;
using trace::NonBlocking;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0xA0, kDevice = 0x7000'0000, kPinned = 0x6000'0000, kPageable = 0x5000'0000;

class HiddenSyncsTest : public testing::Test {
 protected:
  HiddenSyncsTest() {
    trace.stream_create(kA, NonBlocking::Yes);
    trace.alloc(kDevice, 1 << 20);
    trace.alloc(kPinned, 1 << 20, MemoryKind::Pinned);
  }
  void say(HostWaitsState state) {
    trace.at({0x400000}).add(trace::Kind::HostWaits, "", {static_cast<std::uint64_t>(state)});
  }
  /// The functions that were found to wait, in order.
  std::vector<std::string> found() {
    std::vector<std::string> out;
    for (const report::Finding& f : judged(trace).hidden_syncs) {
      EXPECT_EQ(f.severity, report::Severity::Error);
      EXPECT_EQ(f.kind, report::Kind::HiddenSync);
      out.push_back(f.related.at(0).api);
    }
    return out;
  }
  using List = std::vector<std::string>;
  TraceBuilder trace;
};

TEST_F(HiddenSyncsTest, EachWaitOfItsThreadWhereItIsForbidden) {
  trace.at({0x1}).sync_stream(kA);
  say(HostWaitsState::Forbidden);
  trace.at({0x2}).sync_stream(kA);
  trace.at({0x3}).sync_context();
  trace.at({0x4}).free(kDevice);
  trace.on_thread(7).at({0x5}).sync_context();
  trace.on_thread(1);
  say(HostWaitsState::Allowed);
  trace.at({0x6}).sync_stream(kA);
  say(HostWaitsState::Forbidden);
  trace.at({0x7}).alloc(kDevice, 4096);
  say(HostWaitsState::Unwatched);
  trace.at({0x8}).sync_stream(kA);
  EXPECT_EQ(found(), (List{"cuStreamSynchronize", "cuCtxSynchronize", "cuMemFree_v2", "cuMemAlloc_v2"}));
}

TEST_F(HiddenSyncsTest, CopiesByTheirMemory) {
  say(HostWaitsState::Forbidden);
  trace.at({0x1}).copy_async("cuMemcpyDtoHAsync_v2", kA, kPinned, kDevice, 1 << 20);
  trace.at({0x2}).copy_async("cuMemcpyHtoDAsync_v2", kA, kDevice, kPinned, 1 << 20);
  trace.at({0x3}).copy_async("cuMemcpyHtoDAsync_v2", kA, kDevice, kPageable, 1 << 16);
  trace.at({0x4}).copy_async("cuMemcpyDtoDAsync_v2", kA, kDevice, kDevice + 4096, 4096);
  trace.at({0x5}).copy("cuMemcpyDtoD_v2", 1, kDevice, kDevice + 4096, 4096);
  trace.at({0x6}).fill_async(kA, kDevice, 4096);
  trace.at({0x7}).alloc(0x7800'0000, 4096, MemoryKind::DeviceAsync, kA);
  trace.at({0x8}).free_async(0x7800'0000, kA);
  EXPECT_EQ(found(), List{});
  trace.at({0x9}).copy_async("cuMemcpyDtoHAsync_v2", kA, kPageable, kDevice, 4);
  trace.at({0xa}).copy_async("cuMemcpyHtoDAsync_v2", kA, kDevice, kPageable, (1 << 16) + 1);
  trace.at({0xb}).copy("cuMemcpyDtoH_v2", 1, kPinned, kDevice, 4);
  EXPECT_EQ(found(), (List{"cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoH_v2"}));
}

TEST_F(HiddenSyncsTest, OneLineOfPythonIsOneFinding) {
  trace.python_frame(1, "step", "/home/me/train.py", 12);
  trace.python_frame(2, "step", "/home/me/train.py", 13);
  say(HostWaitsState::Forbidden);
  for (int i = 0; i < 3; ++i) {
    trace.at({0x1}, {1}).copy_async("cuMemcpyDtoHAsync_v2", kA, kPageable, kDevice, 4);
    trace.at({0x2}, {1}).sync_stream(kA);
  }
  trace.at({0x2}, {2}).sync_stream(kA);
  EXPECT_EQ(found(), (List{"cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"}));
  EXPECT_EQ(judged(trace).hidden_syncs.at(0).count, 3u);
}

TEST_F(HiddenSyncsTest, WhereItBeganIsTheOutermostRegion) {
  trace.at({0x111}).add(trace::Kind::HostWaits, "", {static_cast<std::uint64_t>(HostWaitsState::Forbidden)});
  trace.at({0x222}).add(trace::Kind::HostWaits, "", {static_cast<std::uint64_t>(HostWaitsState::Allowed)});
  trace.at({0x333}).add(trace::Kind::HostWaits, "", {static_cast<std::uint64_t>(HostWaitsState::Forbidden)});
  trace.at({0x1}).sync_stream(kA);
  const std::vector<report::Finding> out = judged(trace).hidden_syncs;
  ASSERT_EQ(out.size(), 1u);
  ASSERT_EQ(out[0].related.size(), 2u);
  EXPECT_EQ(out[0].related[1].stack.at(0).address, 0x111u);
}

TEST_F(HiddenSyncsTest, AStateThatIsNoneIsIgnored) {
  trace.add(trace::Kind::HostWaits, "", {99});
  trace.at({0x1}).sync_stream(kA);
  EXPECT_EQ(found(), List{});
}

}  // namespace
}  // namespace streamsan::judge
