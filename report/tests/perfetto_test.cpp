// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/perfetto.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

using Json = nlohmann::json;

RunView run_of_three() {
  RunView run;
  run.pid = 4711;
  run.program = "/opt/app/train";
  run.lanes = {{.name = "host thread 1", .stream = {}},
               {"stream 1", StreamKind::Blocking, 0x10},
               {"stream 2", StreamKind::NonBlocking, 0x20}};
  run.sites = {{"cudaMemcpyAsync", "cuMemcpyHtoDAsync_v2", {}},
               {"kernel k()", "cuLaunchKernel", {}},
               {"cudaDeviceSynchronize", "cuCtxSynchronize", {}}};
  run.ops = {{.number = 15, .lane = 1, .site = 0, .kind = OpClass::Copy, .bytes = 64},
             {.number = 18, .lane = 2, .site = 1, .kind = OpClass::Kernel},
             {.lane = 0, .site = 2, .kind = OpClass::Sync, .until = 3}};
  run.edges = {{1, 2, EdgeKind::Sync}};
  return run;
}

std::vector<Json> events(const RunView& run, std::span<const Finding> findings, const std::string& phase) {
  const Json all = Json::parse(perfetto(findings, std::span(&run, 1)));
  std::vector<Json> out;
  for (const Json& each : all["traceEvents"]) {
    if (each["ph"] == phase) out.push_back(each);
  }
  return out;
}

TEST(Perfetto, OneTrackForEachLane) {
  std::map<int, std::string> names;
  for (const Json& each : events(run_of_three(), {}, "M")) {
    if (each["name"] == "thread_name") names[each["tid"]] = each["args"]["name"];
  }
  EXPECT_EQ(names, (std::map<int, std::string>{
                       {1, "host thread 1"}, {2, "stream 1 (blocking)"}, {3, "stream 2 (non-blocking)"}}));
}

TEST(Perfetto, WithoutTimesAStepIsAMicrosecond) {
  const std::vector<Json> slices = events(run_of_three(), {}, "X");
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[1]["ts"], 1.0);
  EXPECT_EQ(slices[1]["dur"], 1.0);
  EXPECT_EQ(slices[1]["name"], "kernel k()");
  EXPECT_EQ(slices[1]["args"]["op"], 18);
}

TEST(Perfetto, RealTimesWhereThereAreAny) {
  RunView run = run_of_three();
  run.gpu_times = true;
  run.ops[0].start_ns = 1'000'000, run.ops[0].end_ns = 1'002'500;
  run.ops[2].start_ns = 1'001'000, run.ops[2].end_ns = 1'004'000;
  const std::vector<Json> slices = events(run, {}, "X");
  ASSERT_EQ(slices.size(), 2u) << "what has no time is left out";
  EXPECT_EQ(slices[0]["ts"], 0.0);
  EXPECT_EQ(slices[0]["dur"], 2.5);
  EXPECT_EQ(slices[1]["ts"], 1.0);
}

TEST(Perfetto, FlowsAreBoundAtBothEnds) {
  const std::vector<Json> starts = events(run_of_three(), {}, "s"), ends = events(run_of_three(), {}, "f");
  ASSERT_EQ(starts.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(starts[0]["id"], ends[0]["id"]);
  EXPECT_EQ(starts[0]["tid"], 3);
  EXPECT_EQ(ends[0]["tid"], 1);
  EXPECT_EQ(starts[0]["ts"], 1.0) << "where its slice begins";
  EXPECT_EQ(ends[0]["ts"], 2.0);
}

TEST(Perfetto, ArrowsFollowTheTime) {
  RunView run = run_of_three();
  run.gpu_times = true;
  run.ops[0].start_ns = 5'000, run.ops[0].end_ns = 6'000;  // the earlier access ran last
  run.ops[1].start_ns = 3'000, run.ops[1].end_ns = 9'000;
  run.ops[2].start_ns = 2'000, run.ops[2].end_ns = 9'500;  // the wait began before the kernel
  const std::vector<Json> returned = events(run, {}, "i"), ends = events(run, {}, "f");
  ASSERT_EQ(returned.size(), 1u);
  EXPECT_EQ(returned[0]["name"], "returned");
  EXPECT_EQ(returned[0]["ts"], 7.499) << "inside of the wait";
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0]["ts"], 7.499);
  const Finding finding = sample_race();
  const std::vector<Json> starts = events(run, std::span(&finding, 1), "s");
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_EQ(starts[1]["tid"], 3);
  EXPECT_EQ(starts[1]["ts"], 1.0);
  EXPECT_EQ(events(run, std::span(&finding, 1), "f")[1]["tid"], 2);
  run.ops[2].end_ns = 2'500;  // it had returned before the kernel began
  EXPECT_EQ(events(run, {}, "s").size(), 0u) << "Perfetto would turn it around";
}

TEST(Perfetto, WhatOverlapsInOneStreamGetsATrackOfItsOwn) {
  RunView run = run_of_three();
  run.gpu_times = true;
  run.ops = {{.lane = 1, .site = 1, .start_ns = 1'000, .end_ns = 5'000},   //
             {.lane = 1, .site = 1, .start_ns = 2'000, .end_ns = 3'000},   // inside of the first
             {.lane = 1, .site = 1, .start_ns = 4'000, .end_ns = 6'000},   // across its end
             {.lane = 1, .site = 1, .start_ns = 6'000, .end_ns = 7'000}};  // right after it
  run.edges.clear();
  std::vector<int> tracks;
  for (const Json& each : events(run, {}, "X")) tracks.push_back(each["tid"]);
  EXPECT_EQ(tracks, (std::vector<int>{2, 2, 3, 2}));
  std::map<int, std::string> names;
  for (const Json& each : events(run, {}, "M")) {
    if (each["name"] == "thread_name") names[each["tid"]] = each["args"]["name"];
  }
  EXPECT_EQ(names[3], "stream 1 (blocking), at the same time");
  EXPECT_EQ(names[4], "stream 2 (non-blocking)");
}

TEST(Perfetto, TracksOfSeveralProcessesAreNumberedThrough) {
  std::vector<RunView> runs{run_of_three(), run_of_three()};
  runs[1].pid = 4712;
  std::map<int, std::size_t> processes;
  const Json all = Json::parse(perfetto({}, runs));
  for (const Json& each : all["traceEvents"]) processes[each["tid"]] |= 1u << (each["pid"] == 4712);
  EXPECT_EQ(processes, (std::map<int, std::size_t>{{1, 1}, {2, 1}, {3, 1}, {4, 2}, {5, 2}, {6, 2}}));
}

TEST(Perfetto, ArrowsStandBetweenSlicesAndInstants) {
  const Finding finding = sample_race();
  const RunView run = run_of_three();
  std::string phases;
  const Json all = Json::parse(perfetto(std::span(&finding, 1), std::span(&run, 1)));
  for (const Json& each : all["traceEvents"]) {
    if (const std::string phase = each["ph"]; phases.empty() || phases.back() != phase[0]) phases += phase;
  }
  EXPECT_EQ(phases, "MXsfsfi");
}

TEST(Perfetto, FindingsAreInstants) {
  const Finding finding = sample_race();
  const std::vector<Json> marks = events(run_of_three(), std::span(&finding, 1), "i");
  ASSERT_EQ(marks.size(), 2u) << "at both accesses";
  EXPECT_EQ(marks[0]["tid"], 3);
  EXPECT_EQ(marks[1]["tid"], 2);
  EXPECT_EQ(marks[0]["args"]["message"], finding.message);
  EXPECT_EQ(events(run_of_three(), std::span(&finding, 1), "s").size(), 2u) << "and the order that is missing";
}

TEST(Perfetto, NothingIsATraceToo) { EXPECT_EQ(Json::parse(perfetto({}, {}))["traceEvents"].size(), 0u); }

}  // namespace
}  // namespace streamsan::report
