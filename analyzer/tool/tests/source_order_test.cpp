// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyzer/tool/source_order.h"

#include <gtest/gtest.h>

namespace streamsan::analyzer {
namespace {

using Names = std::set<std::string>;
using Order = std::vector<std::size_t>;

Names defined(std::string_view text) { return mentions_in(text).defines; }

TEST(Mentions, FunctionsWithABodyAreDefined) {
  EXPECT_EQ(defined("int fill(int* to, int n) { return 0; } void wait();"), Names{"fill"});
  EXPECT_EQ(defined("namespace a::b { extern \"C\" { void run(int (*f)(int)) noexcept { if (g()) { h(); } } } }"),
            Names{"run"});
  EXPECT_EQ(defined("template <int N> __global__ void scale(float* out) { out[0] = f(N); }"), Names{"scale"});
}

TEST(Mentions, MethodsAreDefinedByTheirOwnName) {
  EXPECT_EQ(defined("Lane::Lane(int n) : n_(n), s_(make()) { start(); } void Lane::reset() { wait(); }"),
            (Names{"Lane", "reset"}));
  EXPECT_EQ(defined("struct Lane { void reset() { wait(); } }; const int table[] = {one(), 2};"), Names{});
}

TEST(Mentions, WhatOthersCannotCallIsNotDefined) {
  EXPECT_EQ(defined("static void help() { } #define call(x) x\nint a = f(1);"), Names{});
  EXPECT_EQ(defined("// void note() { }\n/* void too() { } */ const char* s = \"void text() { }\";"), Names{});
}

TEST(Mentions, WhatBodiesNameBeforeAParenthesisIsCalled) {
  EXPECT_EQ(mentions_in("void use(int n); void call() { fill(kSize, n.count()); a<1>(b); }").calls,
            (Names{"fill", "count", "a"}));
}

TEST(SourceOrder, FilesComeAfterThoseThatTheyCall) {
  const SourceOrder order = order_of({{{"top"}, {"middle"}}, {{"middle"}, {"bottom"}}, {{"bottom"}, {}}});
  EXPECT_EQ(order.order, (Order{2, 1, 0}));
  EXPECT_EQ(order.after, (std::vector<Order>{{1}, {2}, {}}));
}

TEST(SourceOrder, InACircleTheOneThatMostWaitForIsFirst) {
  const Mentions hub{{"set_device"}, {"add", "scale"}}, add{{"add"}, {"set_device"}}, scale{{"scale"}, {"set_device"}};
  const SourceOrder order = order_of({add, hub, scale});
  EXPECT_EQ(order.order, (Order{1, 0, 2}));
  EXPECT_EQ(order.after, (std::vector<Order>{{1}, {}, {1}}));
}

TEST(SourceOrder, ANameThatSeveralFilesDefineOrdersNothing) {
  const SourceOrder order = order_of({{{"main"}, {"run"}}, {{"run"}, {}}, {{"run"}, {"main"}}});
  EXPECT_EQ(order.after, (std::vector<Order>{{}, {}, {0}}));
}

}  // namespace
}  // namespace streamsan::analyzer
