// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that can wait for others beside ones that take long for other reasons, from PTX written by hand.
#include "judge/ptx/waiting.h"

#include <gtest/gtest.h>

#include <string>

#include "judge/ptx/tests/helpers.h"

namespace streamsan::ptx {
namespace {

Facts facts(const std::string& body) {
  const std::string text =
      ".visible .entry k(.param .u64 a, .param .u32 n) {\n.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
      "ld.param.u64 %rd1, [a]; ld.param.u32 %r8, [n]; mov.u32 %r1, 0;\n" +
      body + "\nret;\n}\n";
  const Kernel kernel = only_kernel(text);
  EXPECT_TRUE(kernel.understood) << text;
  return facts_of(kernel);
}

bool waits(const std::string& body) { return facts(body).can_wait; }

/// A loop that is left once what the body has put into %r1 is not zero.
std::string until_set(const std::string& body) { return "L:\n" + body + "\nsetp.eq.s32 %p1, %r1, 0; @%p1 bra L;\n"; }
/// A loop of n rounds.
std::string rounds(const std::string& body) {
  return "mov.u32 %r7, 0;\nL:\n" + body + "\nadd.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, %r8; @%p1 bra L;\n";
}

TEST(Waiting, ALoopThatLooksAgainAtWhatOthersWriteCanWait) {
  const char* const loads[] = {
      "ld.volatile.global.u32 %r1, [%rd1];",    "ld.acquire.gpu.global.u32 %r1, [%rd1];",
      "ld.relaxed.sys.global.u32 %r1, [%rd1];", "ld.relaxed.cta.global.u32 %r1, [%rd1];",
      "atom.global.exch.b32 %r1, [%rd1], 0;",   "atom.global.cas.b32 %r1, [%rd1], 1, 0;",
      "ld.global.cv.u32 %r1, [%rd1];",          "ld.global.cg.u32 %r1, [%rd1];",
      "ld.volatile.u32 %r1, [%rd1];",
  };
  for (const char* load : loads) {
    EXPECT_TRUE(waits(until_set(load))) << load;
    EXPECT_FALSE(waits(load)) << load << ": no loop";
    EXPECT_FALSE(waits(rounds(load))) << load << ": the loop counts";
  }
}

TEST(Waiting, AnOrdinaryLoadIsMadeOnceUnlessSomethingRenewsIt) {
  const std::string load = "ld.global.u32 %r1, [%rd1];";
  EXPECT_FALSE(waits(until_set(load)));
  for (const char* renews : {"membar.gl;", "fence.acq_rel.gpu;", "bar.sync 0;", "nanosleep.u32 100;"}) {
    EXPECT_TRUE(waits(until_set(load + renews))) << renews;
    EXPECT_FALSE(waits(rounds(load + renews))) << renews;
    EXPECT_FALSE(waits(load + renews)) << renews;
  }
}

TEST(Waiting, OneForOthersHasALoadOfSystemScope) {
  const char* const of_system[] = {"ld.acquire.sys.global.u32 %r1, [%rd1];", "ld.relaxed.sys.u32 %r1, [%rd1];"};
  for (const char* load : of_system) {
    EXPECT_TRUE(facts(until_set(load)).waits_for_others) << load;
    EXPECT_FALSE(facts(load).waits_for_others) << load << ": no loop";
    EXPECT_FALSE(facts(rounds(load)).waits_for_others) << load << ": the loop counts";
  }
  const char* const of_gpu[] = {"ld.acquire.gpu.global.u32 %r1, [%rd1];", "ld.volatile.global.u32 %r1, [%rd1];",
                                "atom.sys.global.exch.b32 %r1, [%rd1], 0;"};
  for (const char* load : of_gpu) EXPECT_FALSE(facts(until_set(load)).waits_for_others) << load;
}

TEST(Waiting, AListThatIsWalkedIsNoWait) {
  EXPECT_FALSE(waits("L:\nld.global.u64 %rd1, [%rd1];\nsetp.ne.s64 %p1, %rd1, 0; @%p1 bra L;"));
  EXPECT_FALSE(waits("L:\nadd.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, %r8; @%p1 bra L;"));
}

TEST(Waiting, TheLoopThatDecidesIsTheOneThatLooks) {
  // The atomic update is in the outer loop, which counts; the inner one walks a list.
  const std::string walk = "M:\nld.global.u64 %rd2, [%rd2];\nsetp.ne.s64 %p2, %rd2, 0; @%p2 bra M;\n";
  EXPECT_FALSE(waits("atom.global.add.u32 %r2, [%rd1], 1;\n" + walk));
  EXPECT_FALSE(waits(rounds("red.global.add.u32 [%rd1], 1;\n")));
  // In one loop: a round may end by what was loaded.
  EXPECT_TRUE(waits("L:\natom.global.add.u32 %r2, [%rd1], 1;\nsetp.lt.s32 %p1, %r2, %r8; @%p1 bra L;"));
  // Left from the middle, by a copy of what was loaded.
  EXPECT_TRUE(
      waits("L:\nld.volatile.global.u32 %r2, [%rd1];\nadd.s32 %r3, %r2, 1; setp.eq.s32 %p1, %r3, 2;\n"
            "@%p1 bra OUT;\nbra L;\nOUT:"));
}

TEST(Waiting, WhatIsNotUnderstoodCanWait) {
  EXPECT_TRUE(waits("call.uni wait_for_it;"));
  EXPECT_FALSE(waits("call.uni (%r1), vprintf, (%rd1, %rd1);"));
  EXPECT_FALSE(waits("call.uni cudaGraphSetConditional, (%rd1, %r1);"));
  EXPECT_TRUE(waits(rounds("strange.instruction %r1, %r2;")));
  EXPECT_FALSE(waits("strange.instruction %r1, %r2;"));
  EXPECT_TRUE(waits("ts: .branchtargets A, B;\nA:\nB:\nbrx.idx %r1, ts;"));
}

}  // namespace
}  // namespace streamsan::ptx
