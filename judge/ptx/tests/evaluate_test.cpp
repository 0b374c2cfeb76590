// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// evaluate() against the interpreter: kernels of kernels.cu, for several architectures, on random small launches. What
// is exact must be touched whatever memory holds; what is complete, or settled, must be all that is touched.
#include "judge/ptx/evaluate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "judge/ptx/parser.h"
#include "judge/ptx/slice.h"
#include "judge/ptx/tests/interpreter.h"

namespace streamsan::ptx {
namespace {

constexpr std::uint64_t kRegion = std::uint64_t{1} << 32;  // pointer k of a launch points into region k + 1

/// A parameter of a test kernel.
struct Argument {
  enum class Kind : std::uint8_t { Pointer, Null, Number, Long, Float };
  Kind kind = Kind::Pointer;
  std::int64_t low = 0;
  std::int64_t high = 0;
};
const Argument kPointer{Argument::Kind::Pointer};
const Argument kNull{Argument::Kind::Null};
const Argument kFloat{Argument::Kind::Float};
Argument number(std::int64_t low, std::int64_t high) { return {Argument::Kind::Number, low, high}; }
Argument wide(std::int64_t low, std::int64_t high) { return {Argument::Kind::Long, low, high}; }

struct Case {
  const char* kernel;
  std::vector<Argument> arguments;  ///< members of structures one by one
  bool complete;                    ///< on all launches
  std::array<unsigned, 6> most{6, 1, 1, 40, 1, 1};
};

const Case kCases[] = {
    {"vector_add", {kPointer, kPointer, kPointer, number(-3, 300)}, true},
    {"saxpy_long", {kPointer, kPointer, kFloat, wide(-3, 900)}, true},
    {"saxpy_int", {kPointer, kPointer, kFloat, number(-3, 900)}, true},
    {"second_half", {kPointer, kPointer, number(0, 300)}, true},
    {"copy_2d",
     {kPointer, number(30, 60), number(0, 30), number(0, 40), kPointer, number(30, 50), number(0, 9), number(0, 9)},
     true,
     {3, 3, 1, 12, 7, 1}},
    {"stencil", {kPointer, kPointer, number(1, 40), number(1, 30)}, true, {4, 4, 1, 11, 7, 1}},
    {"clamped", {kPointer, kPointer, number(0, 200)}, true},
    {"fill_vec", {kPointer, number(0, 200)}, true},
    {"rows_inner", {kPointer, number(0, 90), number(0, 14)}, true},
    {"rows_outer", {kPointer, number(0, 90), number(0, 14)}, true},
    {"strided", {kPointer, number(0, 90), number(0, 9)}, true},
    {"backwards", {kPointer, kPointer, number(0, 200)}, true},
    {"matmul", {kPointer, kPointer, kPointer, number(8, 24)}, true, {3, 3, 1, 8, 8, 1}},
    {"reduce_sum", {kPointer, kPointer, number(0, 200)}, true, {5, 1, 1, 60, 1, 1}},
    {"warps", {kPointer, number(0, 20)}, true, {5, 1, 1, 130, 1, 1}},
    {"divided", {kPointer, number(0, 200), number(1, 30)}, true},
    {"thirds", {kPointer, number(0, 200)}, true},
    {"cube", {kPointer, number(0, 20), number(0, 20)}, true, {3, 3, 3, 7, 5, 1}},
    {"triangle", {kPointer, number(0, 30)}, true, {20, 1, 1, 20, 1, 1}},
    {"wraps", {kPointer, number(0, 20)}, true},
    {"narrow", {kPointer, number(0, 300)}, true, {20, 1, 1, 40, 1, 1}},
    {"optional", {kPointer, kPointer, number(0, 200)}, true},
    {"optional", {kPointer, kNull, number(0, 200)}, true},
    {"decompress", {kPointer, number(0, 200), number(0, 9), number(-3, 90)}, true},
    {"functor", {number(0, 200), kPointer, number(-3, 90)}, true},
    {"nested", {kPointer, number(0, 60), number(-1, 12), number(-1, 12)}, true},
    {"generator", {kPointer, number(0, 99), number(0, 200), wide(0, 50)}, true},
    {"choosing", {kPointer, number(0, 200), number(-3, 40)}, true},
    {"rest_of_row", {kPointer, number(0, 200), number(-3, 200)}, true},
    {"row_by_row", {kPointer, number(0, 200), number(3, 20), number(10, 40)}, false},
    {"after_choice", {kPointer, kPointer, number(1, 200)}, false},
    {"prints", {kPointer, number(-2, 50)}, true},
    {"gather", {kPointer, kPointer, kPointer, number(1, 200)}, false},
    {"scatter", {kPointer, kPointer, kPointer, number(1, 200)}, false},
    {"histogram", {kPointer, kPointer, number(1, 200)}, false},
    {"conditional", {kPointer, kPointer, kPointer, number(1, 200)}, false},
    {"leaves", {kPointer, kPointer, number(1, 100)}, false},
    {"chase", {kPointer, number(1, 100)}, false},
    {"swaps", {kPointer, kPointer, number(0, 6)}, true},
};

struct Arguments {
  std::vector<std::byte> bytes;
  std::vector<std::uint64_t> pointers;
};

Arguments draw(const Case& each, std::mt19937& random) {
  Arguments out;
  const auto put = [&](std::int64_t value, std::size_t size) {
    out.bytes.resize((out.bytes.size() + size - 1) / size * size + size);
    std::memcpy(out.bytes.data() + out.bytes.size() - size, &value, size);
  };
  for (const Argument& argument : each.arguments) {
    switch (argument.kind) {
      case Argument::Kind::Pointer:
        out.pointers.push_back(kRegion * (out.pointers.size() + 1) + kRegion / 2);
        put(static_cast<std::int64_t>(out.pointers.back()), 8);
        break;
      case Argument::Kind::Null:
        put(0, 8);
        break;
      case Argument::Kind::Number:
        put(std::uniform_int_distribution(argument.low, argument.high)(random), 4);
        break;
      case Argument::Kind::Long:
        put(std::uniform_int_distribution(argument.low, argument.high)(random), 8);
        break;
      case Argument::Kind::Float:
        put(0x3f000000, 4);
        break;
    }
  }
  out.bytes.resize(out.bytes.size() + 16);  // tails of structures
  return out;
}

std::map<std::string, std::string> modules() {
  std::map<std::string, std::string> out;
  for (const char* path : {STREAMSAN_PTX_TEXTS}) {
    std::ifstream file(path);
    out[path] = {std::istreambuf_iterator<char>(file), {}};
  }
  return out;
}

Kernel kernel_named(const std::string& text, const std::string& name) {
  for (const Entry& entry : find_entries(text))
    if (entry.name == name) return parse(entry);
  ADD_FAILURE() << "no kernel " << name;
  Kernel none;
  none.understood = false;
  return none;
}

/// The launch that it has in common with others says the same of it.
void compare_with_common(const Slice& slice, const Launch& launch, const Limits& limits, const Result& result) {
  const Result common = evaluate(slice, {launch.grid, launch.block, slice.common(launch.arguments)}, limits);
  EXPECT_EQ(common.steps, result.steps);
  EXPECT_EQ(common.complete, result.complete);
  EXPECT_EQ(common.settled, result.settled);
  ASSERT_EQ(common.touched.size(), result.touched.size());
  for (std::size_t i = 0; i < common.touched.size(); ++i) {
    const auto placed = slice.placed(common.touched[i], launch.arguments);
    ASSERT_TRUE(placed.has_value());
    EXPECT_EQ(placed->address, result.touched[i].bytes.address);
    EXPECT_EQ(bytes_of(*placed), bytes_of(result.touched[i].bytes));
    EXPECT_EQ(common.touched[i].mode, result.touched[i].mode);
    EXPECT_EQ(common.touched[i].exact, result.touched[i].exact);
    EXPECT_EQ(common.touched[i].base, result.touched[i].base);
  }
}

void compare(const Case& each, const Kernel& kernel, std::mt19937& random) {
  const Facts facts = facts_of(kernel);
  ASSERT_TRUE(facts.known);
  const Arguments arguments = draw(each, random);
  Launch launch{.arguments = arguments.bytes};
  for (std::size_t i = 0; i < 3; ++i) {
    launch.grid[i] = std::uniform_int_distribution(1u, each.most[i])(random);
    launch.block[i] = std::uniform_int_distribution(1u, each.most[i + 3])(random);
  }
  // Every second time, loops are left as soon as they can be.
  const Limits limits = random() % 2 == 0 ? Limits{} : Limits{.loop_steps = 0, .turns_apart = 0};
  const std::optional<Slice> slice = slice_of(kernel, facts);
  ASSERT_TRUE(slice.has_value());
  const Result result = evaluate(*slice, launch, limits);
  ASSERT_TRUE(result.evaluated);
  compare_with_common(*slice, launch, limits, result);
  if (each.complete) {
    EXPECT_TRUE(result.complete);
  }
  std::array<std::set<std::uint64_t>, 3> exact, all;
  for (const Touched& touched : result.touched) {
    const auto mode = static_cast<std::size_t>(touched.mode);
    all[mode].merge(bytes_of(touched.bytes));
    if (touched.exact) exact[mode].merge(bytes_of(touched.bytes));
  }
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const auto trail = interpret(kernel, launch, seed * 1'000'003);
    ASSERT_TRUE(trail);
    for (std::size_t mode = 0; mode < 3; ++mode) {
      if (result.complete) {
        EXPECT_EQ(exact[mode], trail->bytes[mode]) << "mode " << mode;
      }
      for (const std::uint64_t byte : exact[mode])
        ASSERT_TRUE(trail->bytes[mode].contains(byte)) << "mode " << mode << ", not touched: " << std::hex << byte;
      for (const std::uint64_t byte : trail->bytes[mode]) {
        const std::uint64_t region = byte / kRegion;
        if (region == 0) continue;  // through a pointer from memory, which is a small number here
        for (std::size_t word = 0; word < result.settled.size(); ++word) {
          std::uint64_t value = 0;
          if (word * 8 + 8 <= launch.arguments.size()) std::memcpy(&value, launch.arguments.data() + word * 8, 8);
          if (value / kRegion != region || !result.settled[word]) continue;
          ASSERT_TRUE(exact[mode].contains(byte))
              << "word " << word << " is settled, mode " << mode << ", missed: " << std::hex << byte;
        }
      }
    }
  }
}

class AgainstInterpreter : public testing::TestWithParam<Case> {};

TEST_P(AgainstInterpreter, SameBytes) {
  std::mt19937 random(4711);
  for (const auto& [path, text] : modules()) {
    SCOPED_TRACE(path);
    const Kernel kernel = kernel_named(text, GetParam().kernel);
    for (int round = 0; round < 25 && !HasFatalFailure(); ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      compare(GetParam(), kernel, random);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, AgainstInterpreter, testing::ValuesIn(kCases), [](const auto& each) {
  return std::string(each.param.kernel) + "_" + std::to_string(each.index);
});

/// One launch of a kernel, on real sizes.
Result run(const std::string& name, std::initializer_list<std::uint64_t> words, std::array<std::uint32_t, 3> grid,
           std::array<std::uint32_t, 3> block) {
  static const std::string text = modules().begin()->second;  // any will do
  const Kernel kernel = kernel_named(text, name);
  std::vector<std::byte> bytes(words.size() * 8);
  std::memcpy(bytes.data(), std::data(words), bytes.size());
  return evaluate(kernel, facts_of(kernel), {grid, block, bytes});
}

std::vector<Piece> pieces(const Result& result, Mode mode) {
  std::vector<Piece> out;
  for (const Touched& touched : result.touched)
    if (touched.mode == mode) out.push_back(touched.bytes);
  return out;
}

constexpr std::uint64_t kA = 0x7f0000000000, kB = 0x7f1000000000, kC = 0x7f2000000000;

TEST(Evaluate, ALargeVectorIsOnePiece) {
  const Result result = run("vector_add", {kA, kB, kC, 100'000'001}, {390'626, 1, 1}, {256, 1, 1});
  ASSERT_TRUE(result.complete);
  EXPECT_EQ(pieces(result, Mode::Write), std::vector<Piece>({{.address = kC, .width = 400'000'004}}));
  EXPECT_EQ(pieces(result, Mode::Read).size(), 2u);
}

TEST(Evaluate, AGridStrideLoopIsOnePiece) {
  const Result result =
      run("saxpy_int", {kA, kB, 0x989680'00000000 /* n in the upper half */}, {512, 1, 1}, {256, 1, 1});
  ASSERT_TRUE(result.complete);
  EXPECT_EQ(pieces(result, Mode::Write), std::vector<Piece>({{.address = kA, .width = 40'000'000}}));
}

TEST(Evaluate, ALongLoopOfArithmeticIsLeftOut) {
  const auto words = [](std::uint64_t low, std::uint64_t high) { return low | high << 32; };
  const std::vector<Piece> all = {{.address = kA, .width = 4000}};
  const auto writes_all = [&](const Result& result) {
    EXPECT_TRUE(result.complete);
    EXPECT_LT(result.steps, 50'000u);
    EXPECT_EQ(pieces(result, Mode::Write), all);
  };
  for (const std::uint64_t work : {200'000, 200'001, 200'002, 200'003, 2'000'000'000}) {
    writes_all(run("decompress", {kA, words(1000, 7), work}, {4, 1, 1}, {256, 1, 1}));
    writes_all(run("functor", {1000, kA, work}, {4, 1, 1}, {256, 1, 1}));
    writes_all(run("generator", {kA, words(7, 1000), work << 4}, {4, 1, 1}, {256, 1, 1}));
    writes_all(run("choosing", {kA, words(1000, work)}, {4, 1, 1}, {256, 1, 1}));
    writes_all(run("rest_of_row", {kA, words(1000, work)}, {4, 1, 1}, {256, 1, 1}));
    writes_all(run("nested", {kA, words(1000, 1000), work}, {4, 1, 1}, {256, 1, 1}));
  }
}

TEST(Evaluate, AddressesThatAShortLoopMakesAreFollowed) {
  const Result result = run("row_by_row", {kA, 10'000 | 100ull << 32, 128}, {40, 1, 1}, {256, 1, 1});
  ASSERT_TRUE(result.complete);
  EXPECT_EQ(pieces(result, Mode::Write),
            std::vector<Piece>({{.address = kA, .width = 400, .rows = 100, .pitch = 512}}));
}

TEST(Evaluate, APitchedCopyIsRows) {
  const Result result =
      run("copy_2d", {kA, 1024ull | 1000ull << 32, 900, kB, 2048ull | 1000ull << 32, 900}, {63, 57, 1}, {16, 16, 1});
  ASSERT_TRUE(result.complete);
  EXPECT_EQ(pieces(result, Mode::Write),
            std::vector<Piece>({{.address = kA, .width = 4000, .rows = 900, .pitch = 4096}}));
  EXPECT_EQ(pieces(result, Mode::Read),
            std::vector<Piece>({{.address = kB, .width = 4000, .rows = 900, .pitch = 8192}}));
}

TEST(Evaluate, AGatherSettlesAllButWhatIsGathered) {
  const Result result = run("gather", {kA, kB, kC, 1000}, {4, 1, 1}, {256, 1, 1});
  ASSERT_TRUE(result.evaluated);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.settled, std::vector<bool>({true, true, false, true}));
}

TEST(Evaluate, WhatMemoryDecidesIsNotExact) {
  const Result result = run("conditional", {kA, kB, kC, 1000}, {4, 1, 1}, {256, 1, 1});
  ASSERT_TRUE(result.evaluated);
  EXPECT_EQ(result.settled, std::vector<bool>({true, false, true, true}));
}

TEST(Evaluate, NothingIsProvedOfAKernelThatCallsWhatIsNotKnown) {
  EXPECT_FALSE(run("calls", {kA, kB, kC, 7}, {1, 1, 1}, {32, 1, 1}).evaluated);
}

TEST(Evaluate, AProductOfVaryingNumbersIsNotFollowed) {
  EXPECT_FALSE(run("product", {kA, 1000}, {64, 1, 1}, {64, 1, 1}).complete);
  EXPECT_TRUE(run("product", {kA, 1000}, {1, 1, 1}, {64, 1, 1}).complete);
}

TEST(Evaluate, AVariableOfTheModuleHasNoKnownAddress) {
  const Result result = run("variable", {kA, 10}, {1, 1, 1}, {32, 1, 1});
  ASSERT_TRUE(result.evaluated);
  EXPECT_FALSE(result.complete);
  EXPECT_TRUE(result.settled[0]);
}

TEST(Evaluate, NothingIsProvedOfAKernelThatMayWaitForAnother) {
  EXPECT_FALSE(run("waits", {kA, kB, kC, 1}, {1, 1, 1}, {32, 1, 1}).evaluated);
  // A loop that memory decides may be waiting, whatever kind of load it looks with.
  EXPECT_FALSE(run("until_zero", {kA, kB, 10}, {1, 1, 1}, {32, 1, 1}).evaluated);
}

TEST(Evaluate, LabelsOfInlineAssemblyAreNotMixedUp) {
  EXPECT_FALSE(run("labels", {kA, 30}, {1, 1, 1}, {32, 1, 1}).complete);
}

// What nvcc makes of __vimin_s32_relu() for compute capability 9.0: at least 0, at most n - 1.
constexpr char kRelu[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry relu(.param .u64 relu_param_0, .param .u32 relu_param_1) {
  .reg .b32 %r<5>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [relu_param_0];
  ld.param.u32 %r1, [relu_param_1];
  mov.u32 %r2, %tid.x;
  add.s32 %r3, %r2, -8;
  min.s32.relu %r4, %r3, %r1;
  mul.wide.s32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)";

TEST(Evaluate, AModifierThatIsNotFollowedMakesTheResultUnknown) {
  for (const bool relu : {true, false}) {
    std::string text = kRelu;
    if (!relu) text.erase(text.find(".relu"), std::strlen(".relu"));
    const Kernel kernel = kernel_named(text, "relu");
    const std::array<std::uint64_t, 2> words = {kA, 63};
    const Result result = evaluate(kernel, facts_of(kernel), {{1, 1, 1}, {32, 1, 1}, std::as_bytes(std::span(words))});
    EXPECT_EQ(result.complete, !relu);
  }
}

TEST(Evaluate, WorkIsBounded) {
  // Two billion rounds of the loop.
  EXPECT_FALSE(run("rows_inner", {kA, 1 | 2'000'000'000ull << 32}, {1, 1, 1}, {1, 1, 1}).evaluated);
  // A diagonal of a million blocks: no box fits.
  EXPECT_FALSE(run("triangle", {kA, 1'000'000}, {1'000'000, 1, 1}, {1024, 1, 1}).evaluated);
}

}  // namespace
}  // namespace streamsan::ptx
