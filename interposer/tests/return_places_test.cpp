// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places of return addresses, in functions of several shapes. On AArch64 this is compiled with signed return addresses,
// which are at work where the processor can check them.
#include "interposer/return_places.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace streamsan::recorder {
namespace {

struct Seen {
  std::uint64_t pc;
  std::uint64_t place;
  std::uint64_t word;
};

struct Walk {
  ReturnPlaces places;
  std::vector<Seen> seen;
};

_Unwind_Reason_Code visit(_Unwind_Context* frame, void* argument) {
  auto& walk = *static_cast<Walk*>(argument);
  const std::uint64_t place = walk.places.of(frame);
  walk.seen.push_back({_Unwind_GetIP(frame), place, place ? *reinterpret_cast<const std::uint64_t*>(place) : 0});
  return _URC_NO_REASON;
}

std::uint64_t g_wrapper_place;
const void* g_callers_stack;

[[gnu::noinline]] void innermost(Walk& walk) {
  g_wrapper_place = return_place_of(__builtin_frame_address(0));
  g_callers_stack = SS_CALLERS_STACK();
  walk.seen.reserve(100);
  _Unwind_Backtrace(visit, &walk);
  asm volatile("" ::: "memory");
}

[[gnu::noinline]] void with_variables(Walk& walk) {
  volatile char large[3000];
  std::memset(const_cast<char*>(large), 1, sizeof large);
  innermost(walk);
  asm volatile("" ::"r"(large) : "memory");
}

[[gnu::noinline]] double with_registers(Walk& walk, double a, double b, int n) {
  for (int i = 0; i < n; ++i) a = a * b + 1;
  with_variables(walk);
  return a * b * n;
}

[[gnu::noinline]] double with_variable_size(Walk& walk, std::size_t bytes) {
  auto* block = static_cast<volatile char*>(__builtin_alloca(bytes));
  block[bytes - 1] = 1;
  const double result = with_registers(walk, 1.5, 2.5, 3) + block[bytes - 1];
  asm volatile("" ::"r"(block) : "memory");
  return result;
}

[[gnu::noinline]] void from_here(Walk& walk) {
  with_variable_size(walk, 500);
  asm volatile("" ::: "memory");
}

TEST(ReturnPlaces, AreFoundForFunctionsOfAllShapes) {
  Walk walk;
  from_here(walk);
  // innermost() itself is where the walk begins; the five behind it are returned to.
  ASSERT_GE(walk.seen.size(), 6u);
  for (std::size_t i = 1; i < 6; ++i) {
    ASSERT_NE(walk.seen[i].place, 0u) << i;
    EXPECT_EQ(return_address_in(walk.seen[i].word), walk.seen[i].pc) << i;
    if (i > 1) {
      EXPECT_GT(walk.seen[i].place, walk.seen[i - 1].place) << i;
    }
  }
  EXPECT_EQ(walk.seen[1].place, g_wrapper_place) << "as a wrapper knows it by its own frame";
}

TEST(ReturnPlaces, TheSameCallHasTheSamePlaceAndWord) {
  std::vector<Seen> before;
  for (int round = 0; round < 3; ++round) {
    Walk walk;
    from_here(walk);
    ASSERT_GE(walk.seen.size(), 6u);
    walk.seen.resize(6);
    for (std::size_t i = 1; i < 6 && !before.empty(); ++i) {
      EXPECT_EQ(walk.seen[i].place, before[i].place) << i;
      EXPECT_EQ(walk.seen[i].word, before[i].word) << i;
    }
    before = walk.seen;
  }
}

[[gnu::noinline]] const void* callers_stack(double a, double b, int n) {
  volatile double variables[20] = {};
  for (int i = 0; i < n; ++i) variables[i % 20] = a * b;
  return variables[n % 20] > 1 ? SS_CALLERS_STACK() : nullptr;
}

TEST(CallersStack, BeginsBelowTheCallersVariablesAndAboveTheCalled) {
  volatile char mine[64] = {};
  const void* begin = callers_stack(1.5, 2.5, 25);
  ASSERT_NE(begin, nullptr);
  EXPECT_LE(begin, static_cast<const void*>(const_cast<const char*>(mine)));
  EXPECT_LE(begin, __builtin_frame_address(0));
  Walk walk;
  innermost(walk);
  EXPECT_GT(reinterpret_cast<std::uint64_t>(g_callers_stack), g_wrapper_place);
  EXPECT_LE(g_callers_stack, static_cast<const void*>(const_cast<const char*>(mine)));
}

#if defined __aarch64__
TEST(ReturnPlaces, SignedAddressesAreRead) {
  Walk walk;
  from_here(walk);
  bool some_signed = false;
  for (std::size_t i = 1; i < 6; ++i) some_signed |= walk.seen[i].word != walk.seen[i].pc;
  if (!some_signed) GTEST_SKIP() << "this processor does not sign return addresses";
}
#endif

}  // namespace
}  // namespace streamsan::recorder
