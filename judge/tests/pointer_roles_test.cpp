// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is concluded about pointers, and what is not: each conclusion has a twin where it must not be drawn.
#include "judge/pointer_roles.h"

#include <gtest/gtest.h>

#include "trace/format.h"

namespace streamsan::judge {
namespace {

using ordering::AccessMode;
using trace::pointer_word;

constexpr AccessMode R = AccessMode::Read;
constexpr AccessMode W = AccessMode::Write;
constexpr AccessMode U = AccessMode::Unknown;
constexpr AccessMode D = AccessMode::Doubtful;

std::vector<AccessMode> modes(std::string_view mangled, std::initializer_list<std::uint64_t> words) {
  std::vector<ordering::PointerArgument> pointers;
  read_pointers(pointer_roles(mangled), std::vector<std::uint64_t>(words), pointers);
  std::vector<AccessMode> out;
  for (const auto& pointer : pointers) out.push_back(pointer.mode);
  return out;
}

using Modes = std::vector<AccessMode>;

TEST(PointerRoles, ConstIsReadAndTheRestOfSuchASignatureWritten) {
  // scale(float const*, float*, int)
  EXPECT_EQ(modes("_Z5scalePKfPfi", {pointer_word(0, 64), pointer_word(1, 128)}), (Modes{R, W}));
}

TEST(PointerRoles, WithoutAnyConstNothingIsSure) {
  // scale(float*, float*, int)
  EXPECT_EQ(modes("_Z5scalePfS_i", {pointer_word(0, 64), pointer_word(1, 128)}), (Modes{U, U}));
}

TEST(PointerRoles, TheOnlyPointerIsWritten) {
  // fill(int*, int), and the same unmangled
  EXPECT_EQ(modes("_Z4fillPii", {pointer_word(0, 64)}), (Modes{W}));
  EXPECT_EQ(modes("fill", {pointer_word(0, 64)}), (Modes{W}));
  EXPECT_EQ(modes("fill", {pointer_word(0, 64, true)}), (Modes{W}));
}

TEST(PointerRoles, TheOnlyPointerToConstIsReadAllTheSame) {
  // peek(int const*)
  EXPECT_EQ(modes("_Z4peekPKi", {pointer_word(0, 64)}), (Modes{R}));
}

TEST(PointerRoles, APointerToVolatileIsTalkAndNotData) {
  // delay(int volatile*, int), also unmangled as the only pointer; await(int const volatile*, int*)
  EXPECT_EQ(modes("_Z5delayPVii", {pointer_word(0, 64)}), (Modes{D}));
  EXPECT_EQ(modes("_Z5awaitPVKiPi", {pointer_word(0, 64), pointer_word(1, 128)}), (Modes{D, W}));
}

TEST(PointerRoles, TheOnlyPointerBesideAStructureIsNotSure) {
  // mix(Table, int*): the structure may hold the results
  EXPECT_EQ(modes("_Z3mix5TablePi", {pointer_word(0, 64, true), pointer_word(1, 128)}), (Modes{D, U}));
}

TEST(PointerRoles, PointersInsideStructuresAreDoubtful) {
  EXPECT_EQ(modes("gemm", {pointer_word(0, 64, true), pointer_word(0, 128, true)}), (Modes{D, D}));
}

constexpr std::string_view kMultiply =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13AUnaryFunctorIfffNS0_15binary_internal10MulFunctorIfEEEE"
    "St5arrayIPcLm2EEEEviT0_T1_";

TEST(PointerRoles, AtensArrayStartsWithTheOutput) {
  EXPECT_EQ(modes(kMultiply, {pointer_word(2, 64, true), pointer_word(2, 128, true)}), (Modes{W, R}));
}

TEST(PointerRoles, AnIncompleteArrayOfAtenSaysNothing) {
  EXPECT_EQ(modes(kMultiply, {pointer_word(1, 32, true), pointer_word(2, 64, true)}), (Modes{D, D}));
}

TEST(PointerRoles, CupyEndsWithTheOutput) {
  EXPECT_EQ(modes("cupy_add__float32_float32_float32",
                  {pointer_word(0, 64, true), pointer_word(1, 128, true), pointer_word(2, 256, true)}),
            (Modes{R, R, W}));
}

TEST(PointerRoles, AnotherKernelWithSuchArraysIsDoubtful) {
  EXPECT_EQ(modes("my_add", {pointer_word(0, 64, true), pointer_word(1, 128, true)}), (Modes{D, D}));
}

}  // namespace
}  // namespace streamsan::judge
