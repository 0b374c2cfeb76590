// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/marks.h"

#include <gtest/gtest.h>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using trace::MarkLevel;
using trace::NonBlocking;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0xA0, kB = 0xB0, kMemory = 0x7000'0000;

void mark(TraceBuilder& trace, MarkLevel level, std::string_view name) {
  trace.add_text(trace::Kind::Mark, {static_cast<std::uint64_t>(level), name.size()}, name);
}

TEST(Marks, HoldFromTheirPlaceToTheNextOfTheirLevel) {
  Marks marks;
  marks.add(MarkLevel::Part, 10, "one");
  marks.add(MarkLevel::Test, 15, "test");
  marks.add(MarkLevel::Part, 20, "two");
  marks.add(MarkLevel::Part, 30, "");
  auto part = [&](std::uint64_t position) { return marks.name(marks.at(MarkLevel::Part, position)); };
  EXPECT_EQ(part(9), "");
  EXPECT_EQ(part(10), "one");
  EXPECT_EQ(part(19), "one");
  EXPECT_EQ(part(20), "two");
  EXPECT_EQ(part(30), "");
  EXPECT_EQ(marks.name(marks.at(MarkLevel::Test, 100)), "test");
}

/// A race of the same two places in each of the tests.
TraceBuilder racy_in(std::initializer_list<const char*> tests, bool ordered = false) {
  TraceBuilder trace;
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.alloc(kMemory, 4096);
  for (const char* test : tests) {
    mark(trace, MarkLevel::Test, test);
    trace.at({0x401000}).fill_async(kA, kMemory, 4096);
    if (ordered) trace.sync_stream(kA);
    mark(trace, MarkLevel::Part, "second half");
    trace.at({0x402000}).fill_async(kB, kMemory, 4096);
    trace.sync_context();
    mark(trace, MarkLevel::Part, "");
  }
  return trace;
}

TEST(Marks, AFindingHasTheTestsOfAllItsTimes) {
  const Judged out = judged(racy_in({"test_a", "test_b", "test_a"}));
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_EQ(out.findings[0].count, 3u);
  EXPECT_EQ(out.findings[0].tests, (std::vector<std::string>{"test_a", "test_b"}));
  EXPECT_EQ(out.findings[0].accesses[0].mark, "second half");
  EXPECT_EQ(out.findings[0].accesses[1].mark, "");
  EXPECT_TRUE(judged(racy_in({"test_a"}, true)).findings.empty());
}

TEST(Marks, AFindingBetweenTwoTestsIsOfBoth) {
  TraceBuilder trace;
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.alloc(kMemory, 4096);
  mark(trace, MarkLevel::Test, "first");
  trace.fill_async(kA, kMemory, 4096);
  mark(trace, MarkLevel::Test, "between");
  mark(trace, MarkLevel::Test, "second");
  trace.fill_async(kB, kMemory, 4096);
  const Judged out = judged(trace);
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_EQ(out.findings[0].tests, (std::vector<std::string>{"first", "second"}));
}

TEST(Marks, WithoutMarksThereAreNoTests) {
  const Judged out = judged(racy_in({""}));
  ASSERT_EQ(out.findings.size(), 1u);
  EXPECT_TRUE(out.findings[0].tests.empty());
}

}  // namespace
}  // namespace streamsan::judge
