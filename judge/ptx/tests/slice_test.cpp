// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is left of a kernel, from PTX written by hand. That the bytes are those of the whole kernel is what
// evaluate_test.cpp and turns_test.cpp compare with the interpreter, which runs the whole.
#include "judge/ptx/slice.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/ptx/tests/helpers.h"

namespace streamsan::ptx {
namespace {

constexpr std::uint64_t kA = 0x7f0000000000, kB = 0x7f1234567800;

/// A kernel of a = %rd1, rate = %f1, n = %r8, seed = %rd8, with %r1 = the thread's number.
Slice slice(const std::string& body) {
  const std::string text =
      ".visible .entry k(.param .u64 a, .param .f32 rate, .param .u32 n, .param .u64 seed) {\n"
      ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n"
      "ld.param.u64 %rd1, [a]; ld.param.f32 %f1, [rate]; ld.param.u32 %r8, [n]; ld.param.u64 %rd8, [seed];\n"
      "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n" +
      body + "\nret;\n}\n";
  const Kernel kernel = only_kernel(text);
  auto made = slice_of(kernel, facts_of(kernel));
  EXPECT_TRUE(made.has_value()) << text;
  return made.value_or(Slice{kernel, facts_of(kernel), Flow(kernel), {}, {}});
}

std::vector<std::byte> common(const Slice& of, std::uint64_t a, std::uint32_t rate, std::uint32_t n,
                              std::uint64_t seed) {
  const std::array<std::uint64_t, 3> words = {a, rate | std::uint64_t{n} << 32, seed};
  return of.common(std::as_bytes(std::span(words)));
}

const std::string kNoise =
    "cvt.u32.u64 %r9, %rd8; mul.lo.s32 %r10, %r9, 1664525; add.s32 %r11, %r10, 1013904223; xor.b32 %r12, %r11, %r10;\n"
    "cvt.rn.f32.u32 %f2, %r12; fma.rn.f32 %f3, %f2, %f1, %f2;\n";

TEST(Slice, WhatIsStoredIsLeftOut) {
  const Slice of = slice(kNoise + "st.global.f32 [%rd3], %f3;");
  EXPECT_EQ(of.kernel.instructions.size(), 6u) << "ld.param, mov, mul, add, st, ret";
  EXPECT_EQ(of.kernel.registers, 4);
}

TEST(Slice, WhatAnAddressOrABranchIsMadeOfIsKept) {
  const Slice plain = slice(kNoise + "st.global.f32 [%rd3], %f3;");
  for (const char* use : {"cvt.u64.u32 %rd5, %r12; add.s64 %rd3, %rd1, %rd5; st.global.f32 [%rd3], %f3;",
                          "setp.eq.s32 %p1, %r12, 7; @%p1 bra OUT; st.global.f32 [%rd3], %f3; OUT:",
                          "setp.eq.s32 %p1, %r12, 7; @%p1 st.global.f32 [%rd3], %f3;",
                          "setp.eq.s32 %p1, %r12, 7; @%p1 add.s64 %rd3, %rd3, 4; st.global.f32 [%rd3], %f3;",
                          "strange.instruction %r12, %r12; st.global.f32 [%rd3], %f3;"}) {
    const Slice of = slice(kNoise + use);
    EXPECT_GT(of.kernel.instructions.size(), plain.kernel.instructions.size() + 4) << use;
    EXPECT_NE(common(of, kA, 2, 3, 4), common(of, kA, 2, 3, 5)) << use;
  }
}

TEST(Slice, AnAccessIsKeptWhateverBecomesOfIt) {
  for (const char* use : {"ld.global.f32 %f4, [%rd3];", "ld.f32 %f4, [%rd3];", "red.global.add.f32 [%rd3], %f1;",
                          "atom.global.add.u32 %r9, [%rd3], 1;"})
    EXPECT_EQ(slice(use).kernel.instructions.size(), 6u) << use;
  for (const char* use : {"ld.shared.f32 %f4, [%rd3];", "st.local.f32 [%rd3], %f1;", "bar.sync 0;", "membar.gl;"})
    EXPECT_EQ(slice(use).kernel.instructions.size(), 1u) << use;
}

TEST(Slice, AJumpLeadsToWhatIsLeftBehindItsPlace) {
  const Slice of =
      slice("mov.u32 %r2, 0;\nL: " + kNoise +
            "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r8; @%p1 bra L; bra END; END: mov.f32 %f5, %f1;\n");
  ASSERT_EQ(of.kernel.instructions.size(), 7u) << "ld.param, mov, add, setp, bra, bra, ret";
  EXPECT_EQ(of.kernel.instructions[4].target, 2);
  EXPECT_EQ(of.kernel.instructions[5].target, 6);
}

TEST(Slice, LaunchesThatDifferInOtherArgumentsHaveOneInCommon) {
  const Slice of = slice(kNoise + "setp.ge.s32 %p1, %r1, %r8; @%p1 bra OUT; st.global.f32 [%rd3], %f3; OUT:");
  const auto base = common(of, kA, 2, 3, 4);
  EXPECT_EQ(base, common(of, kA, 7, 3, 4)) << "rate";
  EXPECT_EQ(base, common(of, kA, 2, 3, 7)) << "seed";
  EXPECT_NE(base, common(of, kA, 2, 7, 4)) << "n";
  EXPECT_EQ(base, common(of, kB, 2, 3, 4)) << "a";
  EXPECT_NE(base, common(of, 7, 2, 3, 4)) << "a, which is no address";
}

/// Where a launch with `a` there stores first.
std::uint64_t place(const Slice& of, std::uint64_t a) {
  const std::array<std::uint64_t, 3> words = {a, std::uint64_t{9} << 32, kB};
  const auto arguments = std::as_bytes(std::span(words));
  const Result result = evaluate(of, {{1, 1, 1}, {32, 1, 1}, of.common(arguments)});
  EXPECT_TRUE(result.complete);
  const auto placed = result.touched.empty() ? std::nullopt : of.placed(result.touched[0], arguments);
  return placed ? placed->address : 0;
}

TEST(Slice, WhatIsCountedFromABaseIsWhereTheLaunchHasIt) {
  for (const char* use : {"st.global.f32 [%rd3+8], %f1;", "cvta.to.global.u64 %rd4, %rd3; st.global.f32 [%rd4+8], %f1;",
                          "add.s64 %rd4, %rd2, 8; add.s64 %rd5, %rd4, %rd1; st.global.f32 [%rd5], %f1;",
                          "mad.wide.u32 %rd4, %r1, 4, %rd1; st.global.f32 [%rd4+8], %f1;",
                          "sub.s64 %rd4, %rd3, -8; st.global.f32 [%rd4], %f1;",
                          "mov.u64 %rd4, %rd3; mov.u32 %r2, 0;\nL: add.s64 %rd4, %rd4, 8; add.s32 %r2, %r2, 1;\n"
                          "setp.lt.s32 %p1, %r2, 1; @%p1 bra L; st.global.f32 [%rd4], %f1;"}) {
    const Slice of = slice(use);
    EXPECT_TRUE(of.bases.words.at(0)) << use;
    EXPECT_EQ(common(of, kA, 1, 9, kB), common(of, kB, 1, 9, kB)) << use;
    EXPECT_EQ(place(of, kA), kA + 8) << use;
    EXPECT_EQ(place(of, kB), kB + 8) << use;
  }
}

TEST(Slice, WhatIsUsedInAnyOtherWayIsNoBase) {
  for (const char* use :
       {"and.b64 %rd4, %rd3, -16; st.global.f32 [%rd4], %f1;",
        "setp.eq.s64 %p1, %rd1, 0; @%p1 exit; st.global.f32 [%rd3], %f1;",
        "add.s64 %rd4, %rd1, %rd8; st.global.f32 [%rd4], %f1;", "sub.s64 %rd4, %rd2, %rd1; st.global.f32 [%rd4], %f1;",
        "shl.b64 %rd4, %rd1, 1; st.global.f32 [%rd4], %f1;",
        "cvt.u32.u64 %r9, %rd1; cvt.u64.u32 %rd4, %r9; st.global.f32 [%rd4], %f1;",
        "mov.u64 %rd4, %rd1; setp.eq.s32 %p1, %r8, 3; @%p1 mov.u64 %rd4, %rd8; st.global.f32 [%rd4], %f1;",
        "mov.u64 %rd4, 4096; setp.eq.s32 %p1, %r8, 3; @%p1 mov.u64 %rd4, %rd1; st.global.f32 [%rd4], %f1;",
        "setp.eq.s32 %p1, %r8, 3; selp.b64 %rd4, %rd1, %rd8, %p1; st.global.f32 [%rd4], %f1;",
        "ld.param.u32 %r9, [a]; setp.eq.s32 %p1, %r9, 3; @%p1 exit; st.global.f32 [%rd3], %f1;",
        "strange.instruction %r9, %rd1; st.global.f32 [%rd3], %f1;"}) {
    EXPECT_FALSE(slice(use).bases.words.at(0)) << use;
    EXPECT_NE(common(slice(use), kA, 1, 9, kB), common(slice(use), kB, 1, 9, kB)) << use;
  }
}

/// Two words of one structure, read together, and a pointer that nothing else is known of.
TEST(Slice, WhatMayHaveToDoWithAnotherPointerIsNotCountedFromThatOne) {
  for (const char* body :
       {"ld.param.v2.u64 {%rd1, %rd2}, [s]; ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1;",
        "ld.param.v2.u64 {%rd1, %rd2}, [s]; setp.eq.s64 %p2, %rd1, 0; @%p2 exit; ld.global.u32 %r1, [%rd1];\n"
        "st.global.u32 [%rd2], %r1;",
        "ld.param.u64 %rd1, [s]; ld.param.u64 %rd2, [s+8]; ld.global.u32 %r1, [%rd1]; add.s64 %rd9, %rd1, 8;\n"
        "popc.b64 %r2, %rd9; setp.ne.s32 %p1, %r5, 77; selp.b32 %r3, 0, %r2, %p1;\n"
        "mad.wide.u32 %rd6, %r3, 4, %rd2; st.global.u32 [%rd6], %r1;",
        "ld.param.u64 %rd1, [s]; ld.param.u64 %rd2, [s+8]; ld.global.u32 %r1, [%rd1]; mov.u32 %r3, 0;\n"
        "setp.ne.s32 %p1, %r5, 77; @%p1 bra D; multimem.ld_reduce.global.add.u32 %r3, [%rd1];\n"
        "D: mad.wide.u32 %rd6, %r3, 4, %rd2; st.global.u32 [%rd6], %r1;"}) {
    const std::string text =
        ".visible .entry k(.param .align 16 .b8 s[16]) {\n.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<11>;\n"
        "mov.u32 %r5, %tid.x;\n" +
        std::string(body) + "\nret;\n}\n";
    const Kernel kernel = only_kernel(text);
    const auto of = slice_of(kernel, facts_of(kernel));
    ASSERT_TRUE(of.has_value());
    const std::array<std::uint64_t, 2> words = {kA, kB};
    const auto arguments = std::as_bytes(std::span(words));
    const Result result = evaluate(*of, {{1, 1, 1}, {1, 1, 1}, of->common(arguments)});
    ASSERT_TRUE(result.evaluated);
    unsigned found = 0;
    for (const Touched& touched : result.touched) {
      if (!touched.exact) continue;
      const auto placed = of->placed(touched, arguments);
      ASSERT_TRUE(placed.has_value()) << body;
      EXPECT_EQ(placed->address, touched.mode == Mode::Write ? kB : kA) << body;
      ++found;
    }
    EXPECT_EQ(found, 2u) << body;
  }
}

TEST(Slice, WhatEndsBeyondTheLastAddressHasNoPlace) {
  const Slice of = slice("st.global.f32 [%rd3], %f1;");
  const std::array<std::uint64_t, 3> words = {(std::uint64_t{1} << 56) - 64, 0, 0};
  const auto arguments = std::as_bytes(std::span(words));
  for (const bool fits : {true, false}) {
    const Result result = evaluate(of, {{1, 1, 1}, {fits ? 16u : 17u, 1, 1}, of.common(arguments)});
    ASSERT_EQ(result.touched.size(), 1u);
    EXPECT_EQ(of.placed(result.touched[0], arguments).has_value(), fits);
  }
}

TEST(Slice, OfWhatIsNotUnderstoodThereIsNone) {
  Kernel kernel;
  kernel.understood = false;
  EXPECT_FALSE(slice_of(kernel, facts_of(kernel)).has_value());
}

}  // namespace
}  // namespace streamsan::ptx
