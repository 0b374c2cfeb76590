// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What findings say of host threads: names and places of creation, as far as the trace has them.
#include <gtest/gtest.h>

#include <algorithm>

#include "judge/frames.h"
#include "judge/tests/two_streams.h"

namespace streamsan::judge {
namespace {

using namespace two_stream_tests;
using report::Frame;
using report::RelatedOp;

std::vector<std::string> created(const Finding& finding) {
  std::vector<std::string> out;
  for (const RelatedOp& related : finding.related) {
    if (related.what.starts_with("host thread")) out.push_back(related.what);
  }
  return out;
}

/// One thread fills the buffer, the other one reads it.
Finding race(TraceBuilder& trace, std::uint16_t first, std::uint16_t second) {
  trace.on_thread(first);
  produce(trace);
  trace.on_thread(second);
  consume(trace);
  std::vector<Finding> findings = judge(trace);
  EXPECT_EQ(findings.size(), 1u);
  return findings.empty() ? Finding{} : findings[0];
}

TEST(HostThreads, AreNamedAndSayWhereTheyWereCreated) {
  TraceBuilder trace = two_streams();
  trace.on_thread(2).at({0x401500}).host_thread("loader", "pthread_create");
  trace.on_thread(3).at({0x401600}).host_thread("", "thrd_create");
  const Finding finding = race(trace, 2, 3);
  EXPECT_EQ(finding.accesses[1].thread, 2u);
  EXPECT_EQ(finding.accesses[1].thread_name, "loader");
  EXPECT_EQ(finding.accesses[0].thread_name, "");
  EXPECT_FALSE(finding.accesses[0].main_thread);
  EXPECT_EQ(created(finding), (std::vector<std::string>{"host thread 2 \"loader\" created by pthread_create",
                                                        "host thread 3 created by thrd_create"}));
  EXPECT_EQ(finding.related.back().stack.at(0).address, 0x401600u);
  EXPECT_EQ(finding.related.back().api, "thrd_create");
}

TEST(HostThreads, OfOnePlaceAreToldTogether) {
  TraceBuilder trace = two_streams();
  for (const std::uint16_t thread : {2, 3}) trace.on_thread(thread).at({0x401500}).host_thread("", "pthread_create");
  EXPECT_EQ(created(race(trace, 2, 3)),
            (std::vector<std::string>{"host thread 2 and host thread 3 created by pthread_create"}));
}

TEST(HostThreads, OneThreadIsNotAskedWhereItIsFrom) {
  TraceBuilder trace = two_streams();
  trace.on_thread(2).at({0x401500}).host_thread("loader", "pthread_create");
  const Finding finding = race(trace, 2, 2);
  EXPECT_EQ(created(finding), std::vector<std::string>{});
  EXPECT_EQ(finding.accesses[0].thread_name, "loader");
}

TEST(HostThreads, TheLastNameCountsForTheWholeRun) {
  TraceBuilder trace = two_streams();
  trace.on_thread(1).nowhere().host_thread("", "", true);
  trace.on_thread(2).at({0x401500}).host_thread("", "pthread_create");
  trace.on_thread(1);
  produce(trace);
  trace.on_thread(2);
  consume(trace);
  trace.at({0x401500}).host_thread("late", "pthread_create");
  const std::vector<Finding> findings = judge(trace);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].accesses[0].thread_name, "late");
  EXPECT_TRUE(findings[0].accesses[1].main_thread);
  EXPECT_EQ(created(findings[0]), (std::vector<std::string>{"host thread 2 \"late\" created by pthread_create"}));
}

TEST(HostThreads, OfAnOlderTraceHaveNumbers) {
  TraceBuilder trace = two_streams();
  const Finding finding = race(trace, 2, 3);
  EXPECT_EQ(finding.accesses[0].thread, 3u);
  EXPECT_EQ(finding.accesses[0].thread_name, "");
  EXPECT_EQ(created(finding), std::vector<std::string>{});
}

TEST(HostThreads, ACreationInsideOfLibrariesIsNotShown) {
  TraceBuilder trace = two_streams();
  trace.module("/usr/lib/libcublas.so.13", 0x700000, 0x700000, 0x800000);
  trace.on_thread(2).at({0x700100}).host_thread("", "pthread_create");
  EXPECT_EQ(created(race(trace, 2, 3)), std::vector<std::string>{});
}

TEST(HostThreads, AreMadeByWhatTheProgramCalls) {
  const auto maker = [](std::vector<std::string> functions) {
    std::vector<Frame> stack;
    for (std::string& function : functions) stack.push_back({.function = std::move(function), .module = "/opt/app"});
    return thread_maker(stack, "pthread_create");
  };
  const std::string start = "std::thread::_M_start_thread(std::unique_ptr<std::thread::_State>, void (*)())";
  EXPECT_EQ(maker({start, "std::thread::thread<f, void>(f&&)", "main"}), "std::thread");
  EXPECT_EQ(maker({start, "std::jthread::_S_create<f>(f&&)", "std::jthread::jthread<f, void>(f&&)", "main"}),
            "std::jthread");
  EXPECT_EQ(maker({start, "std::__future_base::_Async_state_impl<int>::_Async_state_impl(int&&)",
                   "std::future<void> std::async<f>(std::launch, f&&)", "main"}),
            "std::async");
  EXPECT_EQ(maker({"Pool::grow()", "std::thread::thread<f, void>(f&&)"}), "pthread_create")
      << "of the program's own call";
  EXPECT_EQ(maker({"std::thread_pool::add()", "main"}), "pthread_create");
  EXPECT_EQ(maker({}), "pthread_create");
  const auto python = [](const char* function, bool library) {
    return Frame{.function = function, .language = report::Language::Python, .library = library};
  };
  EXPECT_EQ(thread_maker({python("Thread.start", true), python("Executor.submit", true), python("main", false)}, "x"),
            "Executor.submit()");
  EXPECT_EQ(thread_maker({python("main", false), python("run", true)}, "pthread_create"), "pthread_create");
  Frame forward = python("Linear.forward", true);
  forward.forward = true;
  EXPECT_EQ(thread_maker({forward}, "pthread_create"), "pthread_create") << "called by another thread, before";
}

}  // namespace
}  // namespace streamsan::judge
