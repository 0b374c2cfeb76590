// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces through the judge: findings are counted, folded, distinguished and named as they should be.
#include <gtest/gtest.h>

#include "judge/judge.h"
#include "judge/tests/two_streams.h"

namespace streamsan::judge::two_stream_tests {
namespace {

TEST(Judge, LoopsFoldIntoOneFindingWithACount) {
  TraceBuilder trace = two_streams();
  for (int i = 0; i < 10; ++i) {
    trace.copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kBytes);
    trace.launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
    trace.sync_context();
  }
  std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].count, 10u);
}

TEST(Judge, FindingsBeyondTheLimitAreCounted) {
  TraceBuilder trace = two_streams();
  for (std::uint64_t i = 0; i < 5; ++i) {
    trace.at({0x401000 + i}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kBytes);
    trace.at({0x402000 + i}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
    trace.sync_context();
  }
  EXPECT_EQ(judge(trace).size(), 5u);
  EXPECT_EQ(judge(trace, 3).size(), 3u);
}

TEST(Judge, FingerprintIsTheSameWhereverTheModuleIsLoaded) {
  auto run = [](std::uint64_t bias, std::uint64_t offset) {
    TraceBuilder trace;
    trace.module("/opt/app/demo", bias, bias, bias + 0x100000);
    trace.function(kConsume, "_Z7consumePKf");
    trace.stream_create(kA, NonBlocking::Yes);
    trace.stream_create(kB, NonBlocking::Yes);
    trace.alloc(kBuffer + bias, kBytes);
    trace.at({bias + 0x1100}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer + bias, kHost, kBytes);
    trace.at({bias + offset}).launch(kB, kConsume, {pointer_word(0, kBuffer + bias)}, kBytes);
    std::vector<Finding> findings = judge(trace);
    return findings.size() == 1 ? findings[0].fingerprint : "";
  };
  EXPECT_EQ(run(0x400000, 0x1200), run(0x55550000, 0x1200));
  EXPECT_NE(run(0x400000, 0x1200), run(0x400000, 0x1204));
}

TEST(Judge, StreamsAreNamedByTheProgramsNames) {
  TraceBuilder trace = two_streams();
  trace.name_stream(kB, "compute");
  produce(trace);
  consume(trace);
  std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].accesses[0].stream.name, "stream \"compute\"");
}

TEST(Judge, AModuleMayBeRecordedAfterItsFirstStack) {
  TraceBuilder trace = two_streams();
  trace.at({0x900010}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kBytes);
  trace.module("/opt/app/plugin1.so", 0x900000, 0x900000, 0x910000);
  trace.module("/opt/app/plugin2.so", 0x8ff000, 0x8ff000, 0x918000);  // long after, when the first one was unmapped
  trace.at({0x700010}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
  std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].accesses[0].stack[0].module, "") << "in no module at all";
  EXPECT_EQ(findings[0].accesses[1].stack[0].module, "/opt/app/plugin1.so");
  EXPECT_EQ(findings[0].accesses[1].stack[0].offset, 0x10u);
}

TEST(Judge, AddressesResolveInTheModulesOfTheirTime) {
  TraceBuilder trace = two_streams();
  trace.module("/opt/app/plugin1.so", 0x900000, 0x900000, 0x910000);
  trace.at({0x900010}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kBytes);
  trace.module("/opt/app/plugin2.so", 0x908000, 0x908000, 0x918000);  // mapped where the first one was
  trace.at({0x908010}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
  std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].accesses[0].stack[0].module, "/opt/app/plugin2.so");
  EXPECT_EQ(findings[0].accesses[0].stack[0].offset, 0x10u);
  EXPECT_EQ(findings[0].accesses[1].stack[0].module, "/opt/app/plugin1.so");
}

TEST(Judge, LinesOfPythonTellStacksApart) {
  TraceBuilder trace = two_streams();
  trace.module("/usr/bin/python3.12", 0x900000, 0x900000, 0x910000);
  trace.python_frame(1, "load", "/home/me/train.py", 10);
  trace.python_frame(2, "step", "/home/me/train.py", 20);
  trace.python_frame(3, "step", "/home/me/train.py", 21);
  trace.python_frame(4, "<module>", "/home/me/train.py", 30);
  trace.at({0x900010}, {1, 4}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, kHost, kBytes);
  trace.at({0x900010}, {2, 4}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
  trace.at({0x900010}, {3, 4}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);
  trace.at({0x900010}, {3, 99}).launch(kB, kConsume, {pointer_word(0, kBuffer)}, kBytes);  // 99: not known
  std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_NE(findings[0].fingerprint, findings[1].fingerprint);
  EXPECT_NE(findings[1].fingerprint, findings[2].fingerprint);
  const std::vector<report::Frame>& stack = findings[0].accesses[0].stack;
  ASSERT_EQ(stack.size(), 2u) << "the interpreter's own frames are left out";
  EXPECT_EQ(stack[0].function, "step");
  EXPECT_EQ(stack[0].file, "/home/me/train.py");
  EXPECT_EQ(stack[0].line, 20u);
  EXPECT_EQ(stack[0].language, report::Language::Python);
  EXPECT_FALSE(stack[0].library);
  EXPECT_EQ(stack[1].function, "<module>");
  EXPECT_EQ(findings[2].accesses[0].stack.size(), 1u);
}

/// Two streams, an event without effect and a race: the copy is called `copy`, in a trace with these functions.
TraceBuilder racy_with(std::vector<std::string> functions, std::string_view copy = "cuMemcpyHtoDAsync_v2") {
  TraceBuilder trace;
  trace.set_functions(std::move(functions));
  trace.function(kConsume, "_Z7consumePKf");
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.event_create(kEvent);
  trace.alloc(kBuffer, kBytes);
  trace.event_record(kA, kEvent);
  trace.copy_async(copy, kA, kBuffer, kHost, kBytes);
  trace.event_wait(kB, kEvent);
  consume(trace);
  return trace;
}

const std::vector<std::string> kCalled = {"cuEventCreate",  "cuEventRecord",        "cuLaunchKernel",   "cuMemAlloc_v2",
                                          "cuStreamCreate", "cuMemcpyHtoDAsync_v2", "cuStreamWaitEvent"};

/// A library's function, called at one place of the program's, fills one buffer in two streams, the second of which
/// was made by the stack given.
std::string fix_of_two_calls_of_a_library(std::initializer_list<std::uint64_t> maker_of_second) {
  TraceBuilder trace;
  trace.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  trace.module("/opt/lib/libcublas.so.13", 0x700000, 0x700000, 0x800000);
  trace.at({0x401000}).stream_create(kA, NonBlocking::Yes);
  trace.at(maker_of_second).stream_create(kB, NonBlocking::Yes);
  trace.at({0x401000}).alloc(kBuffer, kBytes);
  for (const std::uint64_t stream : {kA, kB}) trace.at({0x700100, 0x401200}).fill_async(stream, kBuffer, kBytes);
  const std::vector<Finding> findings = judge(trace);
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? "" : findings[0].fix;
}

TEST(Judge, InsideOfOneCallOfALibraryTheProgramCanAddNoCall) {
  EXPECT_TRUE(
      fix_of_two_calls_of_a_library({0x700200, 0x401200}).starts_with("both are done inside of libcublas.so.13"))
      << fix_of_two_calls_of_a_library({0x700200, 0x401200});
}

TEST(Judge, TwoStreamsOfTheProgramAreGivenToTwoCallsOfALibrary) {
  EXPECT_TRUE(fix_of_two_calls_of_a_library({0x401010}).starts_with("record an event on stream 1 after "))
      << fix_of_two_calls_of_a_library({0x401010});
}

TEST(Judge, ATraceWithAnotherTableOfFunctionsIsJudgedAlike) {
  const Judged own = judged(racy_with({}));
  ASSERT_EQ(hazards_of(own.findings), (HazardList{"read-after-write/error/event-recorded-too-early"}));
  std::vector<std::string> reversed(kCalled.rbegin(), kCalled.rend());
  std::vector<std::string> more = {"cuAaa"};
  for (const std::string& name : kCalled) more.insert(more.end(), {name, name + "_v77"});
  for (const std::vector<std::string>& functions : {kCalled, reversed, more}) {
    const Judged other = judged(racy_with(functions));
    ASSERT_EQ(hazards_of(other.findings), hazards_of(own.findings));
    for (int i : {0, 1}) {
      EXPECT_EQ(other.findings[0].accesses[i].api, own.findings[0].accesses[i].api);
      EXPECT_EQ(other.findings[0].accesses[i].what, own.findings[0].accesses[i].what);
    }
    EXPECT_EQ(other.findings[0].fingerprint, own.findings[0].fingerprint);
    EXPECT_EQ(other.unmodelled, std::vector<std::string>{});
  }
}

TEST(Judge, AFunctionThatTheTableDoesNotHaveIsNamedAndItsRecordStillCounts) {
  std::vector<std::string> functions = kCalled;
  functions.push_back("cuMemcpyAnywhereAsync_v3_ptsz");
  const Judged out = judged(racy_with(functions, "cuMemcpyAnywhereAsync_v3_ptsz"));
  ASSERT_EQ(hazards_of(out.findings), (HazardList{"read-after-write/error/event-recorded-too-early"}));
  EXPECT_EQ(out.findings[0].accesses[1].api, "cuMemcpyAnywhereAsync_v3_ptsz");
  EXPECT_EQ(out.findings[0].accesses[1].what, "cuMemcpyAnywhereAsync");
  EXPECT_EQ(out.unmodelled, std::vector<std::string>{"cuMemcpyAnywhereAsync_v3_ptsz (1 call)"});
}

}  // namespace
}  // namespace streamsan::judge::two_stream_tests
