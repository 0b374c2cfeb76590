// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random kernels of two or three pointers against the interpreter, which runs the whole kernel for every thread: what
// is exact is touched whatever memory holds, and what is complete is all. Each launch is evaluated by itself and by way
// of the launch that it has in common with others (slice.h). Every second kernel has guards, choices between pointers,
// increments in loops, reads of several parameters at once, and uses of a pointer that are no address.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "judge/ptx/slice.h"
#include "judge/ptx/tests/helpers.h"

namespace streamsan::ptx {
namespace {

constexpr std::uint64_t kA = 0x7f0000000000, kB = 0x7f1234567800, kC = 0x7e0000400000;
constexpr unsigned kKernels = 1500;

class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}

  std::string kernel() {
    text_ =
        ".visible .entry k(.param .align 16 .b8 s[48]) {\n"
        ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b32 %c<4>; .reg .b64 %rd<11>;\n"
        "ld.param.u64 %rd1, [s]; ld.param.u64 %rd2, [s+8]; ld.param.u32 %r1, [s+24]; ld.param.u32 %r5, [s+28];\n"
        "ld.param.u64 %rd8, [s+32]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd6, %r2, 4; mov.u32 %r4, %ctaid.x;\n"
        "add.s64 %rd4, %rd2, %rd6; mov.b64 %rd5, %rd1; mov.u32 %r6, 1; ld.shared.u32 %r7, [%rd6];\n"
        "setp.lt.u32 %p1, %r2, %r1; setp.eq.s32 %p4, %r7, 5;\n";
    line("mov.u64 %rd7, ", number(40), "; mov.u32 %r3, ", number(9), "; mov.u64 %rd9, 8;");
    line("setp.eq.s32 %p2, %r5, ", number(3), "; setp.ne.s32 %p3, %r3, 3;");
    line(coin() ? "ld.param.u64 %rd3, [s+16];" : "add.s64 %rd3, %rd1, 64;");
    line(coin() ? "mov.b64 %rd10, s;" : "mov.u64 %rd10, 16;");
    for (unsigned i = 0, count = 6 + below(18); i < count; ++i) statement();
    while (!open_.empty()) close();
    for (unsigned i = 0; i < 2; ++i) line(coin() ? "st.global.u32 [" : "red.global.add.u32 [", pointer(), "], 1;");
    return text_ + "ret;\n}\n";
  }

  unsigned below(unsigned n) { return std::uniform_int_distribution(0u, n - 1)(random_); }

 private:
  bool coin() { return below(2) == 0; }
  std::string number(unsigned n) { return std::to_string(below(n)); }
  std::string pointer() { return "%rd" + std::to_string(1 + below(5)); }
  std::string offset() { return "%rd" + std::to_string(6 + below(4)); }
  std::string wide() { return "%rd" + std::to_string(1 + below(9)); }
  std::string word() { return "%r" + std::to_string(1 + below(7)); }
  std::string flag() { return "%p" + std::to_string(1 + below(4)); }
  std::string guard() { return below(4) == 0 ? (coin() ? "@" : "@!") + flag() + " " : ""; }
  std::string compare() { return std::array{"lt.s32", "ge.u32", "eq.s32", "ne.u32", "le.s32", "gt.u32"}[below(6)]; }

  template <typename... Parts>
  void line(const Parts&... parts) {
    ((text_ += parts), ...);
    text_ += '\n';
  }

  void statement() {
    switch (below(26)) {
      case 0:
        return line(guard(), "add.s64 ", pointer(), ", ", pointer(), ", ", coin() ? offset() : number(64), ";");
      case 1:
        return line(guard(), "mad.wide.u32 ", pointer(), ", ", word(), ", 4, ", pointer(), ";");
      case 2:
        return line(guard(), "mov.u64 ", pointer(), ", ", pointer(), ";");
      case 3:
        return line("selp.b64 ", pointer(), ", ", pointer(), ", ", pointer(), ", ", flag(), ";");
      case 4:
        return line("selp.b32 ", word(), ", ", word(), ", ", word(), ", ", flag(), ";");
      case 5:
        return line(guard(), "add.s32 ", word(), ", ", word(), ", ", coin() ? word() : number(5), ";");
      case 6:
        return line(guard(), "mul.wide.u32 ", offset(), ", ", word(), ", ", number(5), ";");
      case 7:
        return line(guard(), "setp.", compare(), " ", flag(), ", ", word(), ", ", coin() ? word() : number(8), ";");
      case 8:
        return line("setp.", compare(), " %p1|%p2, ", word(), ", ", number(8), ";");
      case 9:
      case 10:
        return line(guard(), "st.global.u32 [", pointer(), "+", number(16), "], ", word(), ";");
      case 11:
      case 12:
        return line(guard(), "ld.global.u32 ", word(), ", [", pointer(), "+", number(16), "];");
      case 13:
        return line(guard(), "red.global.add.u32 [", pointer(), "], ", word(), ";");
      case 14:
        return line(guard(), coin() ? "popc.b64 " : "cvt.u32.u64 ", word(), ", ", wide(), ";");
      case 15:
        return line(guard(), "and.b32 ", word(), ", ", word(), ", ", number(8), ";");
      case 16:
        return line(guard(), "mov.u64 ", offset(), ", ", number(99), ";");
      case 17:
        return line(guard(), "sub.s64 ", coin() ? pointer() : wide(), ", ", pointer(), ", ",
                    coin() ? offset() : pointer(), ";");
      case 18:
        return line(guard(), "ld.global.u64 ", offset(), ", [", pointer(), "];");
      case 19:
        open_.push_back("F" + std::to_string(labels_++));
        return line(coin() ? "@" : "@!", flag(), " bra ", open_.back(), ";");
      case 20:
        if (!open_.empty()) close();
        return;
      case 21:
        return loop();
      case 22:
        return line(guard(), "ld.param.u32 ", word(), ", [%rd10];");
      case 23:
        return line(guard(), "mov.b64 ", wide(), ", {", word(), ", ", word(), "};");
      case 24:
        return line(guard(), "ld.param.v2.u64 {", wide(), ", ", wide(), "}, [s", coin() ? "" : "+16", "];");
      default:
        return line(coin() ? "@" : "@!", flag(), " exit;");
    }
  }

  void close() {
    line(open_.back(), ":");
    open_.pop_back();
  }

  void loop() {
    if (loops_ == 3) return;
    const std::string count = "%c" + std::to_string(loops_), label = "L" + std::to_string(loops_++);
    line("mov.u32 ", count, ", 0;\n", label, ":");
    const std::string moved = pointer();
    line(guard(), "add.s64 ", moved, ", ", moved, ", ", coin() ? offset() : number(9), ";");
    if (coin()) line(guard(), "st.global.u32 [", pointer(), "], ", word(), ";");
    if (coin()) line("bar.sync 0; atom.shared.add.u32 ", word(), ", [%rd6], 1;");
    if (coin()) line("mov.u64 ", pointer(), ", ", pointer(), ";");
    line("add.u32 ", count, ", ", count, ", 1; setp.lt.u32 %p5, ", count, ", ", coin() ? "%r1" : number(300),
         "; @%p5 bra ", label, ";");
  }

  std::mt19937 random_;
  std::string text_;
  std::vector<std::string> open_;  ///< labels that are still in front
  unsigned labels_ = 0;
  unsigned loops_ = 0;
};

/// The common launch's result where the launch has it. Nothing: some of it has no place.
std::optional<Result> placed(const Slice& slice, Result result, std::span<const std::byte> arguments) {
  for (Touched& touched : result.touched) {
    if (!touched.exact) continue;
    const auto place = slice.placed(touched, arguments);
    if (!place) return std::nullopt;
    touched.bytes = *place;
  }
  return result;
}

/// False: nothing is proved.
bool agrees(const Kernel& kernel, const Launch& launch, const std::optional<Result>& result) {
  if (!result || !result->evaluated) return false;
  for (std::uint64_t seed = 1; seed < 4; ++seed)
    if (const auto trail = interpret(kernel, launch, seed * 77)) expect_agreement(*result, *trail);
  return true;
}

TEST(RandomKernels, AgreeWithTheInterpreterAloneAndInCommon) {
  unsigned alone = 0, in_common = 0, moved = 0;
  for (unsigned seed = 0; seed < kKernels && !testing::Test::HasFailure(); ++seed) {
    Writer writer(seed);
    const std::string text = writer.kernel();
    SCOPED_TRACE("kernel " + std::to_string(seed) + ":\n" + text);
    const Kernel kernel = only_kernel(text);
    const auto slice = slice_of(kernel, facts_of(kernel));
    ASSERT_TRUE(slice.has_value());
    for (const bool second : {false, true}) {
      std::array<std::uint64_t, 6> words = {second ? kA : kB + 4 * writer.below(4),
                                            second ? kB : kC,
                                            second ? kC : kA,
                                            writer.below(7) | std::uint64_t{writer.below(3)} << 32,
                                            writer.below(20),
                                            0};
      if (writer.below(10) == 0) words[writer.below(3)] = 1000 * writer.below(5);  // null, or no address
      if (writer.below(10) == 0) words[0] = words[1];
      const auto arguments = std::as_bytes(std::span(words));
      const std::vector<std::byte> common = slice->common(arguments);
      const Launch launch{{1 + writer.below(2), 1, 1}, {1 + writer.below(5), 1, 1}, arguments};
      alone += agrees(kernel, launch, evaluate(*slice, launch));
      const Result shared = evaluate(*slice, {launch.grid, launch.block, common});
      in_common += agrees(kernel, launch, placed(*slice, shared, arguments));
      for (const Touched& touched : shared.touched) moved += touched.exact && touched.base != kNoBase;
    }
  }
  EXPECT_GT(alone, kKernels / 4) << "the test would say nothing";
  EXPECT_GT(in_common, alone * 9 / 10);
  EXPECT_GT(moved, kKernels / 4);
}

}  // namespace
}  // namespace streamsan::ptx
