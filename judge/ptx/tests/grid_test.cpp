// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits and triggers, from PTX written by hand: what comes before the wait, and what a trigger lets begin.
#include "judge/ptx/grid.h"

#include <gtest/gtest.h>

#include <string>

#include "judge/ptx/evaluate.h"
#include "judge/ptx/facts.h"
#include "judge/ptx/parser.h"
#include "judge/ptx/tests/helpers.h"

namespace streamsan::ptx {
namespace {

constexpr const char* kWait = "griddepcontrol.wait;\n";
constexpr const char* kTrigger = "griddepcontrol.launch_dependents;\n";
constexpr const char* kLoad = "ld.global.u32 %r1, [%rd1];\n";
constexpr const char* kStore = "st.global.u32 [%rd1], 1;\n";
constexpr const char* kBarrier = "bar.sync 0;\n";
constexpr const char* kIfFirst = "mov.u32 %r2, %tid.x; setp.ne.s32 %p1, %r2, 0; @%p1 bra OTHERS;\n";
constexpr const char* kOthers = "OTHERS:\n";

Kernel kernel(const std::string& body) {
  const std::string text =
      ".visible .entry k(.param .u64 a, .param .u32 n) {\n.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
      "ld.param.u64 %rd1, [a];\n" +
      body + "\nret;\n}\n";
  return only_kernel(text);
}

Grid grid(const std::string& body) { return grid_of(kernel(body)); }

/// Of what is done through the pointer: "early", "late", "both", "nothing".
std::string when(const std::string& body) {
  const WordFacts word = facts_of(kernel(body)).words.at(0);
  if (word.early()) return word.late ? "both" : "early";
  return word.late ? "late" : "nothing";
}

TEST(Grid, AWaitDividesWhatIsDone) {
  EXPECT_EQ(when(std::string(kLoad) + kWait), "early");
  EXPECT_EQ(when(std::string(kWait) + kLoad), "late");
  EXPECT_EQ(when(std::string(kLoad) + kWait + kStore), "both");
  EXPECT_EQ(when(kLoad), "early");
  EXPECT_FALSE(grid(kLoad).waits);
  EXPECT_TRUE(grid(kWait).waits);
}

TEST(Grid, APathThatHasWaitedIsEnoughToDoubt) {
  EXPECT_EQ(when(std::string(kIfFirst) + kWait + kOthers + kLoad), "late");
  EXPECT_EQ(when(std::string("mov.u32 %r2, %tid.x; setp.ne.s32 %p1, %r2, 0; @%p1 ") + kWait + kLoad), "late");
  // A load in the branch of those that do not wait.
  EXPECT_EQ(when(std::string(kIfFirst) + kWait + "bra END;\n" + kOthers + kLoad + "END:"), "early");
  // A loop whose first round has not waited.
  EXPECT_EQ(when(std::string("L:\n") + kLoad + kWait + "setp.ne.s32 %p1, %r1, 0; @%p1 bra L;"), "late");
}

TEST(Grid, ABarrierHandsTheWaitOn) {
  EXPECT_EQ(when(std::string(kIfFirst) + kWait + kOthers + kBarrier + kLoad), "late");
  EXPECT_EQ(when(std::string(kIfFirst) + kLoad + kWait + kOthers + kBarrier), "early");
  // Warps with roles: one waits and hands over, the others wait for that.
  EXPECT_EQ(when(std::string(kIfFirst) + kWait + "bra END;\n" + kOthers +
                 "L: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra L;\n" + kLoad + "END:"),
            "late");
  // All threads wait by themselves: a barrier before that hands nothing on.
  EXPECT_EQ(when(std::string(kBarrier) + kLoad + kWait), "early");
}

TEST(Grid, AnUnknownCallMayWait) {
  EXPECT_EQ(when(std::string("call.uni help, ();\n") + kLoad), "late");
  EXPECT_TRUE(grid("call.uni help, ();\n").waits);
  EXPECT_EQ(when(std::string("call.uni __internal_trig_reduction_slowpathd, ();\n") + kLoad), "early");
}

TEST(Grid, WhenItTriggers) {
  EXPECT_EQ(grid(kStore).trigger, ordering::Trigger::Never);
  EXPECT_EQ(grid(std::string(kTrigger) + kStore).trigger, ordering::Trigger::Early);
  EXPECT_EQ(grid(std::string(kTrigger) + kLoad).trigger, ordering::Trigger::Early);
  EXPECT_EQ(grid(std::string(kStore) + kTrigger).trigger, ordering::Trigger::Last);
  EXPECT_EQ(grid(std::string(kStore) + "fence.acq_rel.gpu;\n" + kTrigger).trigger, ordering::Trigger::Published);
  EXPECT_EQ(grid(std::string(kStore) + "membar.gl;\n" + kTrigger).trigger, ordering::Trigger::Published);
  EXPECT_EQ(grid(std::string(kStore) + "membar.cta;\n" + kTrigger).trigger, ordering::Trigger::Last);
  EXPECT_EQ(grid(std::string(kStore) + "fence.proxy.async;\n" + kTrigger).trigger, ordering::Trigger::Last);
  // What it has published may be all that the next one needs.
  EXPECT_EQ(grid(std::string(kStore) + "membar.gl;\n" + kTrigger + kStore).trigger, ordering::Trigger::Unknown);
  EXPECT_EQ(grid(std::string(kTrigger) + "call.uni help, ();\n").trigger, ordering::Trigger::Unknown);
  EXPECT_EQ(grid(std::string(kTrigger) + "st.shared.u32 [%r1], 1;").trigger, ordering::Trigger::Published);
}

TEST(Grid, WhetherItWaitsFirst) {
  EXPECT_TRUE(grid(std::string(kWait) + kTrigger).waits_first);
  EXPECT_FALSE(grid(std::string(kTrigger) + kWait).waits_first);
  EXPECT_TRUE(grid(std::string(kIfFirst) + kWait + kOthers + kTrigger).waits_first);
}

TEST(Grid, ATriggerThatAnArgumentMaySwitchOff) {
  EXPECT_TRUE(grid(std::string(kTrigger) + kStore).always);
  const std::string body =
      std::string("ld.param.u32 %r2, [n]; setp.eq.s32 %p1, %r2, 0; @%p1 bra OTHERS;\n") + kTrigger + kOthers + kStore;
  EXPECT_FALSE(grid(body).always);
  const Kernel switched = kernel(body);
  const Facts facts = facts_of(switched);
  for (const std::uint32_t on : {0u, 1u}) {
    std::vector<std::byte> arguments(12);
    arguments[1] = std::byte{0x10};
    arguments[8] = std::byte{static_cast<unsigned char>(on)};
    const Result result = evaluate(switched, facts, {.arguments = arguments});
    EXPECT_TRUE(result.evaluated);
    EXPECT_EQ(result.triggers, on == 1);
  }
}

TEST(Grid, BytesAreToldApartByTheWait) {
  const Kernel both = kernel(std::string(kLoad) + kWait + "st.global.u32 [%rd1+4], 1;");
  std::vector<std::byte> arguments(12);
  arguments[1] = std::byte{0x10};
  const Result result = evaluate(both, facts_of(both), {.arguments = arguments});
  ASSERT_EQ(result.touched.size(), 2u);
  for (const Touched& touched : result.touched) EXPECT_EQ(touched.early, touched.mode == Mode::Read);
}

}  // namespace
}  // namespace streamsan::ptx
