// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of arithmetic whose turns are left out, from PTX written by hand, and random ones against the interpreter. Each
// loop that is proved has a twin that differs by little and must not be, or not like this.
#include "judge/ptx/turns.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "judge/ptx/tests/helpers.h"

namespace streamsan::ptx {
namespace {

constexpr std::uint64_t kA = 0x7f0000000000;
const Limits kEager{.loop_steps = 0, .turns_apart = 0};

/// The body of a kernel with %rd1 = a, %r1 = the thread's number, %r8 = n.
Kernel kernel_of(const std::string& body) {
  const std::string text =
      ".visible .entry k(.param .u64 a, .param .u32 n) {\n"
      ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<9>;\n"
      "ld.param.u64 %rd1, [a]; ld.param.u32 %r8, [n]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
      "mov.u32 %r4, %tid.x; mad.lo.s32 %r1, %r2, %r3, %r4; mov.u32 %r10, 0; mov.f32 %f1, 0f00000000;\n" +
      body + "\nret;\n}\n";
  Kernel kernel = only_kernel(text);
  EXPECT_TRUE(kernel.understood) << text;
  return kernel;
}

/// a[reg] = ...
std::string store_at(const std::string& reg) {
  return "mul.wide.u32 %rd2, " + reg + ", 4; add.s64 %rd3, %rd1, %rd2; st.global.f32 [%rd3], %f1;\n";
}

Result run(const Kernel& kernel, std::uint64_t n, const Limits& limits, std::uint32_t threads = 8,
           std::uint32_t blocks = 1) {
  const std::array<std::uint64_t, 3> words = {kA, n, 0};
  return evaluate(kernel, facts_of(kernel), {{blocks, 1, 1}, {threads, 1, 1}, std::as_bytes(std::span(words))}, limits);
}

/// False: the kernel does not end soon.
bool agrees(const Kernel& kernel, std::uint64_t n, const Result& result, std::uint32_t threads = 8) {
  const std::array<std::uint64_t, 3> words = {kA, n, 0};
  const Launch launch{{1, 1, 1}, {threads, 1, 1}, std::as_bytes(std::span(words))};
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    const auto trail = interpret(kernel, launch, seed * 1'000'003);
    if (!trail) return false;
    expect_agreement(result, *trail);
  }
  return true;
}

/// From 0 to n, with the body before the counting.
std::string rounds(const std::string& body, const std::string& next = "add.s32 %r10, %r10, 1;") {
  return "L:\n" + body + next + " setp.lt.s32 %p1, %r10, %r8; @%p1 bra L;\n";
}
const std::string kSmooth = "fma.rn.f32 %f1, %f1, 0f3F000000, 0f3F800000;\n";

constexpr std::uint64_t kMany = 1'000'000'000;

TEST(Turns, ALoopThatDoesNothingButCountIsLeftOut) {
  const Kernel kernel = kernel_of(rounds(kSmooth) + store_at("%r1"));
  const Result result = run(kernel, kMany, {});
  ASSERT_TRUE(result.complete);
  EXPECT_LT(result.steps, 100u);
  EXPECT_TRUE(agrees(kernel, 50, run(kernel, 50, {})));
}

TEST(Turns, ALoopThatDoesMoreIsNot) {
  for (const char* body : {
           "st.global.f32 [%rd1], %f1;\n",
           "ld.global.f32 %f1, [%rd1];\n",
           "ld.f32 %f1, [%rd1];\n",
           "red.global.add.u32 [%rd1], 1;\n",
           "griddepcontrol.launch_dependents;\n",
           "strange.instruction %r5, %r6;\n",
           "call.uni (%r5), vprintf, (%rd1, %rd1);\n",
           "setp.eq.s32 %p5, %r1, 99; @%p5 exit;\n",
           "setp.eq.s32 %p5, %r1, 99; @%p5 bra OUT;\n",
       })
    EXPECT_FALSE(run(kernel_of(rounds(body) + "OUT:\n" + store_at("%r1")), kMany, {}).evaluated) << body;
  // What no address depends on is not even looked at (slice.h).
  for (const char* body :
       {"ld.local.f32 %f1, [%rd4];\n", "st.shared.f32 [%rd4], %f1;\n", "atom.shared.add.u32 %r5, [%rd1], 1;\n",
        "bar.sync 0;\n", "membar.gl;\n", "nanosleep.u32 100;\n",
        "setp.gt.f32 %p5, %f1, 0f40000000; @%p5 bra SKIP;\nadd.f32 %f1, %f1, %f1;\nSKIP:\n"})
    EXPECT_TRUE(run(kernel_of(rounds(body) + store_at("%r1")), kMany, {}).complete) << body;
}

TEST(Turns, ABoundFromMemoryOrThatMovesIsNoBound) {
  // The first is the loop that memory decides, which is left as ever.
  const Kernel loads = kernel_of("ld.global.u32 %r8, [%rd1];\n" + rounds(kSmooth) + store_at("%r10"));
  EXPECT_FALSE(run(loads, kMany, {}).complete);
  EXPECT_FALSE(run(kernel_of(rounds("add.s32 %r8, %r8, 1;\n") + store_at("%r1")), kMany, {}).evaluated);
  EXPECT_FALSE(run(kernel_of(rounds("shr.u32 %r10, %r10, 1;\n") + store_at("%r1")), kMany, {}).evaluated);
  EXPECT_FALSE(run(kernel_of(rounds("setp.ne.s32 %p5, %r10, 77; @%p5 add.s32 %r10, %r10, 1;\n", "") + store_at("%r1")),
                   kMany, {})
                   .evaluated);
}

TEST(Turns, NothingIsProvedOfALoopThatDoesNotEnd) {
  const auto until = [](const std::string& next, const std::string& stays) {
    return run(kernel_of("L:\n" + kSmooth + next + stays + " @%p1 bra L;\n" + store_at("%r1")), kMany, {});
  };
  EXPECT_TRUE(until("add.s32 %r10, %r10, 4;", "setp.ne.s32 %p1, %r10, %r8;").complete);
  EXPECT_FALSE(until("add.s32 %r10, %r10, 0;", "setp.ne.s32 %p1, %r10, %r8;").evaluated) << "stands still";
  EXPECT_FALSE(until("add.s32 %r10, %r10, 6;", "setp.ne.s32 %p1, %r10, 1000000001;").evaluated) << "jumps over it";
  EXPECT_TRUE(until("add.s32 %r10, %r10, 3;", "setp.ne.s32 %p1, %r10, %r8;").complete) << "comes to it after a wrap";
  EXPECT_FALSE(until("add.s32 %r10, %r10, 4;", "setp.lt.s32 %p1, %r10, 2147483645;").evaluated)
      << "wraps before it is there, for ever";
  EXPECT_TRUE(until("add.s32 %r10, %r10, 4;", "setp.lt.s32 %p1, %r10, 2147483644;").complete);
  EXPECT_FALSE(until("add.s32 %r10, %r10, 1;", "setp.le.s32 %p1, %r10, 2147483647;").evaluated) << "is always so";
  EXPECT_TRUE(until("sub.s32 %r10, %r10, 1;", "setp.gt.s32 %p1, %r10, -2147483648;").complete);
  EXPECT_FALSE(until("sub.s32 %r10, %r10, 1;", "setp.ge.s32 %p1, %r10, -2147483648;").evaluated) << "is always so";
}

TEST(Turns, ALoopInsideMustEndByWhatTheOuterOneDoesNotChange) {
  const auto inside = [](const std::string& start, const std::string& next, const std::string& before = "") {
    const std::string loop = start + "\nM:\n" + kSmooth + next + " @%p2 bra M;\n";
    return kernel_of(rounds(before + loop + "SKIP:\n") + store_at("%r1") + store_at("%r10"));
  };
  const std::string count = "add.s32 %r11, %r11, 1; setp.lt.s32 %p2, %r11, ";
  const std::string skips = "setp.lt.s32 %p3, %r10, 3; @%p3 bra SKIP;\n";
  for (const Kernel& kernel :
       {inside("mov.u32 %r11, 0;", count + "9;"), inside("mov.u32 %r11, %r1;", count + "%r8;"),
        inside("add.s32 %r11, %r1, -5;", count + "9;", skips),
        inside("mov.u32 %r11, 21;", "add.s32 %r11, %r11, -3; setp.ne.s32 %p2, %r11, 0;", skips)}) {
    const Result result = run(kernel, kMany, {});
    EXPECT_TRUE(result.complete);
    EXPECT_LT(result.steps, 1000u);
    EXPECT_TRUE(agrees(kernel, 50, run(kernel, 50, kEager)));
  }
  for (const Kernel& kernel :
       {inside("", count + "9;"), inside("mov.u32 %r11, 0;", count + "%r10;"),
        inside("mov.u32 %r11, %r10;", count + "9;"),
        inside("mov.u32 %r11, 21;", "add.s32 %r11, %r11, -4; setp.ne.s32 %p2, %r11, 0;", skips),
        inside("mov.u32 %r11, 0;", count + "9;", "setp.lt.s32 %p3, %r10, 3; @%p3 bra M;\n"),
        inside("mov.u32 %r11, 0;", count + "9;", "setp.lt.s32 %p3, %r10, 3; @%p3 mov.u32 %r11, 5;\n")}) {
    const Result result = run(kernel, 50, kEager);
    EXPECT_TRUE(!result.evaluated || agrees(kernel, 50, result));
  }
  EXPECT_FALSE(run(inside("", count + "%r10;"), kMany, {}).evaluated) << "the inner loop goes as far as the outer";
  EXPECT_FALSE(run(inside("mov.u32 %r11, 21;", "add.s32 %r11, %r11, -4; setp.ne.s32 %p2, %r11, 0;"), 2, {}).evaluated);
  // One turn in the middle never ends.
  const std::string once = "setp.ne.s32 %p3, %r10, 20; @%p3 bra SKIP;\n";
  const std::string by_four = "add.s32 %r11, %r11, -4; setp.ne.s32 %p2, %r11, 0;";
  EXPECT_FALSE(run(inside("mov.u32 %r11, 21;", by_four, once), 50, kEager).evaluated);
  EXPECT_TRUE(run(inside("mov.u32 %r11, 20;", by_four, once), 50, kEager).complete);
}

TEST(Turns, WhatALoopInsideWritesIsThatOfAnyOfItsTurns) {
  // %r11 is 8 but for one turn of the outer loop, where the second turn of the first inner one makes it 10 (or, of the
  // twin, 12). The second inner loop ends with multiples of four.
  for (const bool ends : {false, true}) {
    const std::string body =
        "mov.u32 %r12, 7; mov.u32 %r14, 7; mov.u32 %r15, 0; setp.ne.s32 %p3, %r10, 20; @%p3 bra MID;\n"
        "M:\nadd.s32 %r11, %r12, 1; mov.u32 %r12, " +
        std::string(ends ? "11" : "9") +
        "; add.s32 %r15, %r15, 1; setp.ge.s32 %p2, %r15, 4; @%p2 bra PAST;\nbra.uni M;\n"
        "MID:\nadd.s32 %r11, %r14, 1;\nPAST:\n"
        "N:\nadd.s32 %r11, %r11, -4; setp.ne.s32 %p4, %r11, 0; @%p4 bra N;\n";
    EXPECT_EQ(run(kernel_of(rounds(body) + store_at("%r1")), 50, kEager).complete, ends);
  }
}

TEST(Turns, WhatCountsIsExactBehindTheLoop) {
  const Kernel kernel = kernel_of(
      "mov.u32 %r11, 5;\n" + rounds("sub.s32 %r12, %r11, 1; mov.u32 %r13, %r11; add.s32 %r11, %r13, 7;\n" + kSmooth) +
      store_at("%r10") + store_at("%r11") + store_at("%r12"));
  for (const Limits& limits : {Limits{}, kEager}) {
    const Result result = run(kernel, 100, limits);
    EXPECT_TRUE(result.complete);
    EXPECT_TRUE(agrees(kernel, 100, result));
  }
  const Result result = run(kernel, 1'000'000, {});
  ASSERT_TRUE(result.complete);
  std::set<std::uint64_t> expected;
  for (const std::uint64_t at : {1'000'000, 7'000'005, 6'999'997})
    for (std::uint64_t i = 0; i < 4; ++i) expected.insert(kA + 4 * at + i);
  std::set<std::uint64_t> found;
  for (const Touched& touched : result.touched) found.merge(bytes_of(touched.bytes));
  EXPECT_EQ(found, expected);
}

TEST(Turns, WhatAProductMakesIsExactOnlyIfTheLoopIsShort) {
  const Kernel kernel =
      kernel_of("mov.u32 %r11, 1;\n" + rounds("mad.lo.s32 %r11, %r11, 3, 1; and.b32 %r11, %r11, 255;\n") +
                store_at("%r11") + store_at("%r1"));
  EXPECT_TRUE(run(kernel, 100, {}).complete);
  EXPECT_TRUE(agrees(kernel, 100, run(kernel, 100, {})));
  for (const Result& result : {run(kernel, 100, kEager), run(kernel, kMany, {})}) {
    ASSERT_TRUE(result.evaluated);
    EXPECT_FALSE(result.complete);
    EXPECT_TRUE(agrees(kernel, 100, result));
  }
}

TEST(Turns, WhatIsWrittenBehindTheWayOutIsThatOfTheLastWholeTurn) {
  const Kernel kernel = kernel_of("L:\nsetp.ge.s32 %p1, %r10, %r8; @%p1 bra OUT;\nshl.b32 %r11, %r10, 1;\n" + kSmooth +
                                  "add.s32 %r10, %r10, 1; bra.uni L;\nOUT:\n" + store_at("%r11"));
  EXPECT_TRUE(run(kernel, kMany, {}).complete);
  const Result result = run(kernel, 100, kEager);
  EXPECT_TRUE(result.complete);
  EXPECT_TRUE(agrees(kernel, 100, result));
}

TEST(Turns, ThreadsOfABoxMayMakeDifferentNumbersOfTurns) {
  const std::string loop = "mov.u32 %r10, %r1;\n" + rounds(kSmooth);
  const Kernel kernel = kernel_of(loop + store_at("%r1"));
  const Result many = run(kernel, kMany, {}, 256, 10'000);
  ASSERT_TRUE(many.complete);
  EXPECT_LT(many.steps, 100u);
  EXPECT_TRUE(run(kernel, kMany, {}, 100).complete);
  EXPECT_TRUE(agrees(kernel, 50, run(kernel, 50, {}, 40), 40));
  EXPECT_TRUE(agrees(kernel, 50, run(kernel, 50, kEager, 40), 40));
  // They leave with the same number, or with one that depends on the thread, which is not followed if there are many.
  const Kernel last = kernel_of("mov.u32 %r11, 0;\n" + loop + store_at("%r10"));
  EXPECT_TRUE(run(last, kMany, {}, 100).complete);
  EXPECT_TRUE(agrees(last, 50, run(last, 50, {}, 40), 40));
  const Result eager = run(last, 50, kEager, 40);
  EXPECT_TRUE(eager.evaluated && !eager.complete);
  EXPECT_TRUE(agrees(last, 50, eager, 40));
  // Some threads jump over the bound.
  const Kernel over = kernel_of("mov.u32 %r10, %r1;\nL:\n" + kSmooth +
                                "add.s32 %r10, %r10, 2; setp.ne.s32 %p1, %r10, 1000; @%p1 bra L;\n" + store_at("%r1"));
  EXPECT_FALSE(run(over, 0, kEager, 40).evaluated);
  // Some do not reach it before they wrap.
  for (const std::uint64_t bound : {2'147'483'645, 2'147'483'644}) {
    const Kernel near = kernel_of("mov.u32 %r10, %r1;\n" + rounds(kSmooth, "add.s32 %r10, %r10, 4;") + store_at("%r1"));
    EXPECT_EQ(run(near, bound, kEager, 40).complete, bound == 2'147'483'644) << bound;
  }
}

/// Random loops on numbers of 16 bits, which wrap early.
class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}

  std::string kernel() {
    const bool up = below(2) != 0, any_way = below(4) == 0;
    const bool goes_up = any_way ? below(2) != 0 : up, stays_up = any_way ? below(2) != 0 : up;
    const std::string low = any({"0", "-300", "%rs5", "-32768", "7"}),
                      high = any({"%rs4", "%rs6", "300", "32767", "99"});
    const std::string bound = up ? high : low;
    const std::string step = std::string(goes_up ? "add" : "sub") + ".s16 %rs1, %rs1, " +
                             any({"1", "1", "2", "3", "4", "7", "%rs7", any_way ? "0" : "1"}) + ";\n";
    const bool swapped = below(5) == 0 && bound[0] == '%';
    const std::string order = (stays_up != swapped ? any({"lt", "le", "ne"}) : any({"gt", "ge", "ne"})) +
                              (any_way ? any({".s16", ".u16"}) : ".s16");
    const std::string decide = "setp." + order + " %p1, " + (swapped ? bound + ", %rs1;" : "%rs1, " + bound + ";");
    const std::string start = "mov.u16 %rs1, " + (up ? low : high) + ";";
    const std::string before = body(), between = body(), after = body();
    std::string out = "cvt.u16.u32 %rs4, %r8; cvt.u16.u32 %rs5, %r1; add.s16 %rs6, %rs4, %rs5; mov.u16 %rs7, 5;\n" +
                      start + " mov.u16 %rs2, 1; " + any({"mov.u16 %rs3, 2;", "ld.shared.u16 %rs3, [%rd4];"}) +
                      " setp.eq.s32 %p2, %r1, 1; mov.u16 %rs8, 0;\nL:\n";
    const bool wrong_way = any_way && below(2) != 0;
    if (below(3) == 0)
      out += before + decide + (wrong_way ? "@%p1" : "@!%p1") + " bra OUT;\n" + between + step + after + "bra L;\n";
    else
      out += before + step + between + decide + after + (wrong_way ? "@!%p1" : "@%p1") + " bra L;\n";
    return out + "OUT:\n" + store("%rs1") + store("%rs2") + store("%rs3") + store_at("%r1");
  }
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

 private:
  std::string any(std::initializer_list<const char*> of) { return std::data(of)[random_() % of.size()]; }
  static std::string store(const std::string& reg) { return "cvt.u32.u16 %r11, " + reg + ";" + store_at("%r11"); }
  std::string body() {
    std::string out;
    while (random_() % 2 != 0) {
      if (random_() % 8 == 0) {
        out += inner();
      } else if (random_() % 5 == 0) {
        const std::string label = "S" + std::to_string(labels_++);
        out += any({"@%p2", "@!%p2", "@%p1"}) + " bra " + label + ";\n" + body() + label + ":\n";
      } else {
        out += any({"mul.lo.s16 %rs2, %rs2, 5;\n", "add.s16 %rs2, %rs2, 3;\n", "add.s16 %rs3, %rs1, 2;\n",
                    "add.s16 %rs2, %rs3, 1;\n", "mov.u16 %rs3, %rs2;\n", "sub.s16 %rs3, %rs3, %rs5;\n",
                    "@%p2 add.s16 %rs2, %rs2, 1;\n", "setp.gt.s16 %p2, %rs1, 20;\n", "ld.shared.u16 %rs3, [%rd4];\n",
                    "setp.lt.s16 %p2, %rs2, 9;\n", "add.s16 %rs2, %rs2, %rs7;\n", "mov.u16 %rs2, %rs1;\n"});
      }
    }
    return out;
  }

  std::string inner() {
    const std::string label = "M" + std::to_string(labels_++);
    return any({"mov.u16 %rs8, 12;\n", "mov.u16 %rs8, %rs5;\n", "add.s16 %rs8, %rs5, 4;\n", "mov.u16 %rs8, %rs1;\n",
                ""}) +
           label + ":\nfma.rn.f32 %f1, %f1, %f1, %f1;\n" +
           any({"add.s16 %rs8, %rs8, 1;\n", "add.s16 %rs8, %rs8, 3;\n", "sub.s16 %rs8, %rs8, 1;\n"}) + "setp." +
           any({"lt", "gt", "ne"}) + ".s16 %p3, %rs8, " + any({"12", "%rs6", "%rs1", "-3"}) + ";\n@%p3 bra " + label +
           ";\n";
  }

  std::mt19937 random_;
  int labels_ = 0;
};

TEST(Turns, RandomLoopsAgreeWithTheInterpreter) {
  int proved = 0, shorter = 0;
  for (unsigned seed = 0; seed < 400 && !testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    const std::string text = random.kernel();
    SCOPED_TRACE(text);
    const Kernel kernel = kernel_of(text);
    const std::uint64_t n = random.below(300);
    const unsigned threads = 1 + random.below(6);
    const Limits never{.steps = 20'000, .loop_steps = ~std::uint64_t{0} >> 1};
    Limits limits = random.below(2) != 0 ? kEager : Limits{.loop_steps = 50, .turns_apart = 3};
    limits.steps = 20'000;
    const Result result = run(kernel, n, limits, threads);
    if (!result.evaluated || !agrees(kernel, n, result, threads)) continue;
    ++proved;
    shorter += result.steps < run(kernel, n, never, threads).steps;
  }
  EXPECT_GT(proved, 150);
  EXPECT_GT(shorter, 50);
}

}  // namespace
}  // namespace streamsan::ptx
