// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/footprints/api_callbacks.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <numeric>

namespace streamsan::footprints {
namespace {

constexpr std::size_t kFlags = 1024;    // of the run-time library
constexpr std::size_t kOfDriver = 807;  // behind them, in a row
constexpr std::size_t kBehind = 1024 + 100;

// A driver's table, in this program's own memory as the driver's is in the driver's.
struct Table {
  std::size_t bytes;
  const void* unknown;
  void (*get_flags)(void**, std::size_t*);
  const void* others[4];
};
std::array<std::uint32_t, kFlags + kBehind> g_flags;
void* g_shown;
std::size_t g_count;
Table g_table;
CUresult g_result;
unsigned g_asked;

void show_flags(void** flags, std::size_t* count) {
  *flags = g_shown;
  *count = g_count;
}

CUresult get_table(const void** table, const CUuuid* id) {
  ++g_asked;
  EXPECT_EQ('\x0c', id->bytes[13]);
  *table = &g_table;
  return g_result;
}

class ApiCallbacksTest : public ::testing::Test {
 protected:
  ApiCallbacksTest() {
    g_flags.fill(0);
    g_shown = g_flags.data();
    g_count = kFlags;
    g_table = {sizeof(Table), nullptr, show_flags, {}};
    g_result = CUDA_SUCCESS;
    g_asked = 0;
  }
  void subscribe() {
    std::fill_n(g_flags.begin() + 1, kFlags - 1, 1u);
    std::fill_n(g_flags.begin() + kFlags, of_driver, 1u);
  }
  unsigned set() { return std::accumulate(g_flags.begin(), g_flags.begin() + kFlags, 0u); }
  unsigned set_of_driver() { return std::accumulate(g_flags.begin() + kFlags, g_flags.end(), 0u); }
  /// Subscribed between the two: how many flags are set in the end.
  unsigned left() {
    callbacks.remember(get_table);
    subscribe();
    callbacks.restore();
    return set();
  }

  ApiCallbacks callbacks;
  std::size_t of_driver = kOfDriver;
};

TEST_F(ApiCallbacksTest, WhatTheSubscriptionHasSetIsPutBack) {
  EXPECT_EQ(0u, left());
  EXPECT_EQ(0u, set_of_driver());
  EXPECT_TRUE(callbacks.known());
}

TEST_F(ApiCallbacksTest, WhatIsSetHereAndThereBehindTheDriversStays) {
  callbacks.remember(get_table);
  subscribe();
  for (std::size_t i = kFlags + kOfDriver + 1; i < g_flags.size(); i += 3) g_flags[i] = 1;
  const unsigned others = set_of_driver() - kOfDriver;
  callbacks.restore();
  EXPECT_EQ(0u, set());
  EXPECT_EQ(others, set_of_driver());
}

TEST_F(ApiCallbacksTest, AShortRowIsSomethingElse) {
  of_driver = 500;
  EXPECT_EQ(0u, left()) << "those of the run-time library are known by themselves";
  EXPECT_EQ(500u, set_of_driver());
}

TEST_F(ApiCallbacksTest, ARowThatSomebodyHadPartsOfStays) {
  g_flags[kFlags + 100] = 1;
  EXPECT_EQ(0u, left());
  EXPECT_EQ(kOfDriver, set_of_driver());
}

TEST_F(ApiCallbacksTest, WhatSomebodyElseHadSetStays) {
  g_flags[7] = g_flags[900] = 1;
  EXPECT_EQ(2u, left());
  EXPECT_EQ(1u, g_flags[7]);
  EXPECT_EQ(1u, g_flags[900]);
}

TEST_F(ApiCallbacksTest, OtherValuesAreNotOurs) {
  callbacks.remember(get_table);
  subscribe();
  g_flags[3] = 0x10001;
  callbacks.restore();
  EXPECT_EQ(0x10001u, g_flags[3]);
}

TEST_F(ApiCallbacksTest, WithoutATableNothingIsDone) {
  callbacks.remember(nullptr);
  callbacks.restore();
  EXPECT_FALSE(callbacks.known());
  g_result = CUDA_ERROR_NOT_FOUND;
  EXPECT_EQ(kFlags - 1, left());
  EXPECT_FALSE(callbacks.known());
  EXPECT_EQ(1u, g_asked);
}

TEST_F(ApiCallbacksTest, ATableOfAnotherSizeIsLeftAlone) {
  g_table.bytes = sizeof(Table) + 8;
  EXPECT_EQ(kFlags - 1, left());
  EXPECT_FALSE(callbacks.known());
}

TEST_F(ApiCallbacksTest, ATableWithoutTheFunctionIsLeftAlone) {
  g_table.get_flags = nullptr;
  EXPECT_EQ(kFlags - 1, left());
}

TEST_F(ApiCallbacksTest, AnotherNumberOfFlagsIsLeftAlone) {
  g_count = kFlags / 2;
  EXPECT_EQ(kFlags - 1, left());
}

TEST_F(ApiCallbacksTest, MemoryThatHoldsOtherValuesIsLeftAlone) {
  g_flags[kFlags - 1] = 2;
  EXPECT_EQ(kFlags - 1, left());
  EXPECT_FALSE(callbacks.known());
}

TEST_F(ApiCallbacksTest, MemoryOutsideOfTheDriverIsLeftAlone) {
  const auto elsewhere = std::make_unique<std::array<std::uint32_t, kFlags + kBehind>>();
  g_shown = elsewhere->data();
  callbacks.remember(get_table);
  elsewhere->fill(1);
  callbacks.restore();
  EXPECT_EQ(kFlags + kBehind, std::accumulate(elsewhere->begin(), elsewhere->end(), 0u));
  EXPECT_FALSE(callbacks.known());
}

TEST_F(ApiCallbacksTest, AnotherObjectsFunctionIsNotCalled) {
  // Of the C library: were it called, nothing good would come of it.
  g_table.get_flags = reinterpret_cast<void (*)(void**, std::size_t*)>(dlsym(RTLD_DEFAULT, "abort"));
  EXPECT_EQ(kFlags - 1, left());
}

}  // namespace
}  // namespace streamsan::footprints
