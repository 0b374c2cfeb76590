// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "judge/testing/trace_builder.h"
#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using report::EdgeKind;
using report::OpClass;
using report::RunView;
using trace::NonBlocking;
using trace::pointer_word;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kEvent = 0xE0, kBuffer = 0x700000000000, kBytes = 8192;

struct Seen {
  RunView view;
  std::vector<report::Finding> findings;
};

Seen seen(const trace::TraceBuilder& trace, std::size_t most = Timeline::kMost) {
  TemporaryFile file(trace.bytes());
  std::string error;
  auto reader = trace::Reader::open(file.path(), {}, error);
  EXPECT_TRUE(reader) << error;
  Hazards hazards(1000);
  Judge judge({}, hazards);
  hazards.take_names_from(judge.handles());
  Timeline timeline(judge, hazards, most);
  judge.add_observer(timeline);
  trace::Item item;
  while (reader->next(item) == trace::Step::Record) judge.consume(item);
  Symbolizer none({.enabled = false, .tool = {}});
  Seen out;
  out.findings = explain(hazards.kept(), hazards.marks(), judge.places(), none);
  out.view = timeline.view(out.findings, none);
  return out;
}

trace::TraceBuilder two_streams() {
  trace::TraceBuilder t;
  t.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  t.function(1, "_Z7consumePKf");
  t.stream_create(kA, NonBlocking::Yes);
  t.stream_create(kB, NonBlocking::Yes);
  t.name_stream(kA, "copies");
  t.event_create(kEvent);
  t.at({0x401000}).alloc(kBuffer, kBytes);
  return t;
}

/// "from>to:kind" by the place of the operations in the view.
std::set<std::string> edges_of(const RunView& view) {
  std::set<std::string> out;
  for (const report::ViewEdge& edge : view.edges) {
    out.insert(std::to_string(edge.from) + ">" + std::to_string(edge.to) + ":" + report::name(edge.kind));
  }
  return out;
}
using Edges = std::set<std::string>;

TEST(Timeline, HostThreadsHaveTheirNames) {
  trace::TraceBuilder t = two_streams();
  t.host_thread("", "", true);
  t.on_thread(2).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, 0x5000, kBytes);
  t.sync_stream(kA);
  t.host_thread("loader", "pthread_create");
  const RunView view = seen(t).view;
  ASSERT_EQ(view.lanes.size(), 3u);
  EXPECT_EQ(view.lanes[0].name, "host thread 1 (main)");
  EXPECT_EQ(view.lanes[1].name, "host thread 2 \"loader\"");
}

TEST(Timeline, LanesOperationsAndEdges) {
  trace::TraceBuilder t = two_streams();
  t.at({0x401100}).copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, 0x5000, kBytes);
  t.event_record(kA, kEvent);
  t.event_wait(kB, kEvent);
  t.at({0x401200}).launch(kB, 1, {pointer_word(0, kBuffer)}, kBytes);
  t.sync_stream(kB);
  const RunView view = seen(t).view;
  ASSERT_EQ(view.lanes.size(), 3u);
  EXPECT_EQ(view.lanes[0].name, "host thread 1");
  EXPECT_EQ(view.lanes[1].name, "stream \"copies\"");
  EXPECT_EQ(view.lanes[2].name, "stream 2");
  EXPECT_EQ(view.lanes[2].stream, report::StreamKind::NonBlocking);
  ASSERT_EQ(view.ops.size(), 6u);
  const OpClass kinds[] = {OpClass::Alloc, OpClass::Copy,   OpClass::Event,
                           OpClass::Wait,  OpClass::Kernel, OpClass::Sync};
  const std::uint64_t numbers[] = {0, 1, 2, 3, 4, 0};
  const std::uint32_t lanes[] = {0, 1, 1, 2, 2, 0};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(view.ops[i].kind, kinds[i]) << i;
    EXPECT_EQ(view.ops[i].number, numbers[i]) << i;
    EXPECT_EQ(view.ops[i].lane, lanes[i]) << i;
    EXPECT_EQ(view.ops[i].thread, 0u) << i;
  }
  EXPECT_EQ(edges_of(view), (Edges{"2>3:event", "4>5:sync"}));
  EXPECT_EQ(view.ops[2].event, 1u);
  EXPECT_EQ(view.ops[3].event, 1u);
  EXPECT_EQ(view.ops[5].until, 6u);
  EXPECT_EQ(view.sites[view.ops[4].site].what, "kernel consume(float const*)");
  EXPECT_EQ(view.sites[view.ops[4].site].stack.at(0).address, 0x401200u);
  EXPECT_EQ(view.operations, 6u);
  EXPECT_FALSE(view.gpu_times);
}

TEST(Timeline, OperationsHaveTheNumbersOfFindings) {
  trace::TraceBuilder t = two_streams();
  t.copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, 0x5000, kBytes);
  t.launch(kB, 1, {pointer_word(0, kBuffer)}, kBytes);
  const Seen it = seen(t);
  ASSERT_EQ(it.findings.size(), 1u);
  for (const report::AccessReport& access : it.findings[0].accesses) {
    auto op = std::ranges::find(it.view.ops, access.op, &report::ViewOp::number);
    ASSERT_NE(op, it.view.ops.end());
    EXPECT_EQ(it.view.lanes[op->lane].name, access.stream.name);
    EXPECT_EQ(it.view.sites[op->site].what, access.what);
  }
}

TEST(Timeline, BuffersHaveTheirHistory) {
  trace::TraceBuilder t = two_streams();
  t.copy("cuMemcpyHtoD_v2", 1, kBuffer, 0x5000, kBytes);
  t.launch(kA, 1, {pointer_word(0, kBuffer + 64)}, kBytes);
  t.free(kBuffer);
  t.alloc(kBuffer, kBytes);
  const RunView view = seen(t).view;
  ASSERT_EQ(view.buffers.size(), 2u) << "two lives at one address are two buffers";
  EXPECT_EQ(view.buffers[0].address, kBuffer);
  EXPECT_EQ(view.buffers[0].bytes, kBytes);
  EXPECT_EQ(view.buffers[0].memory, "device memory");
  std::vector<std::string> history;
  for (const report::ViewOp& op : view.ops) {
    for (std::uint32_t i = 0; i < op.touches; ++i) {
      const report::ViewTouch& touch = view.touches[op.first_touch + i];
      history.push_back(std::string(report::name(op.kind)) + std::to_string(touch.buffer) + (touch.reads ? "r" : "") +
                        (touch.writes ? "w" : ""));
    }
  }
  EXPECT_EQ(history, (std::vector<std::string>{"alloc0w", "copy0w", "kernel0r", "free0w", "alloc1w"}));
}

TEST(Timeline, WaitForTheDeviceIsForStreamsThatDidSomething) {
  trace::TraceBuilder t = two_streams();
  t.fill_async(kA, kBuffer, 64);
  t.fill_async(kB, kBuffer + 64, 64);
  t.sync_context();
  t.fill_async(kB, kBuffer, 64);
  t.sync_context();
  EXPECT_EQ(edges_of(seen(t).view), (Edges{"1>3:sync", "2>3:sync", "4>5:sync"}));
}

TEST(Timeline, BarriersOnlyWhereTheyMatter) {
  trace::TraceBuilder t;
  t.stream_create(kA, NonBlocking::No);
  t.stream_create(kB, NonBlocking::Yes);
  t.alloc(kBuffer, kBytes);
  t.fill_async(1, kBuffer, 64);  // the legacy stream, alone so far
  t.fill_async(1, kBuffer, 64);
  t.fill_async(kA, kBuffer + 64, 64);
  t.fill_async(kA, kBuffer + 64, 64);
  t.fill_async(kB, kBuffer + 128, 64);
  t.fill_async(1, kBuffer, 64);
  t.fill_async(1, kBuffer, 64);
  EXPECT_EQ(edges_of(seen(t).view), (Edges{"2>3:barrier", "4>6:barrier"}));
}

TEST(Timeline, CallsThatWaitHaveABoxOnTheHost) {
  trace::TraceBuilder t = two_streams();
  t.copy("cuMemcpyDtoH_v2", 1, 0x5000, kBuffer, kBytes);
  const RunView view = seen(t).view;
  ASSERT_EQ(view.ops.size(), 3u);
  EXPECT_EQ(view.ops[1].kind, OpClass::Copy);
  EXPECT_EQ(view.ops[2].kind, OpClass::Sync);
  EXPECT_EQ(view.ops[2].site, view.ops[1].site);
  EXPECT_EQ(edges_of(view), (Edges{"1>2:sync"}));
}

TEST(Timeline, WhatIsCapturedIsNotDone) {
  trace::TraceBuilder t = two_streams();
  t.capture_begin(kA);
  t.fill_async(kA, kBuffer, 64);
  t.capture_end(kA, 7);
  t.graph_launch(kA, 8);
  const RunView view = seen(t).view;
  ASSERT_EQ(view.ops.size(), 2u);
  EXPECT_EQ(view.ops[1].kind, OpClass::Graph);
}

TEST(Timeline, Times) {
  trace::TraceBuilder t = two_streams();
  const std::uint64_t fill = t.fill_async(kA, kBuffer, 64);
  const std::uint64_t sync = t.add(trace::Kind::SyncContext, "cuCtxSynchronize", {trace::TraceBuilder::kContext});
  t.add(trace::Kind::CallEnd, "cuCtxSynchronize", {sync, 1000, 5000});
  t.add(trace::Kind::GpuTime, "", {fill, 2000, 4000});
  t.add(trace::Kind::GpuTime, "", {999, 2000, 4000});  // of nothing that is known
  const RunView view = seen(t).view;
  EXPECT_TRUE(view.gpu_times);
  ASSERT_EQ(view.ops.size(), 3u);
  EXPECT_EQ(view.ops[1].start_ns, 2000u);
  EXPECT_EQ(view.ops[1].end_ns, 4000u);
  EXPECT_EQ(view.ops[2].start_ns, 1000u);
  EXPECT_EQ(view.ops[2].end_ns, 5000u);
  EXPECT_EQ(view.ops[0].end_ns, 0u);
}

TEST(Timeline, HostAccessesAndFrees) {
  trace::TraceBuilder t = two_streams();
  t.alloc(0x600000000000, kBytes, ordering::MemoryKind::Pinned);
  t.copy_async("cuMemcpyDtoHAsync_v2", kA, 0x600000000000, kBuffer, kBytes);
  t.host_access(0x600000000000, 4, false);
  const Seen it = seen(t);
  ASSERT_EQ(it.findings.size(), 1u);
  const report::ViewOp& op = it.view.ops.back();
  EXPECT_EQ(op.kind, OpClass::HostAccess);
  EXPECT_EQ(op.number, it.findings[0].accesses[0].op);
  EXPECT_EQ(it.view.sites[op.site].what, "the host");
}

TEST(Timeline, ALongRunKeepsWhatMatters) {
  constexpr std::size_t kMost = 400;
  trace::TraceBuilder t = two_streams();
  t.alloc(kBuffer + 0x100000, kBytes);
  const auto fills = [&](int count) {
    for (int i = 0; i < count; ++i) t.fill_async(kA, kBuffer + 0x100000, 64);
  };
  fills(5000);
  t.at({0x401300}).sync_stream(kA);
  fills(5000);
  t.copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, 0x5000, 4096);
  t.at({0x401310}).launch(kB, 1, {pointer_word(0, kBuffer)}, 64);
  fills(5000);
  const Seen it = seen(t, kMost);
  EXPECT_EQ(it.view.ops.size(), kMost);
  EXPECT_EQ(it.view.operations, 15005u);
  ASSERT_EQ(it.findings.size(), 1u);
  for (const report::AccessReport& access : it.findings[0].accesses) {
    EXPECT_NE(std::ranges::find(it.view.ops, access.op, &report::ViewOp::number), it.view.ops.end());
    EXPECT_NE(std::ranges::find(it.view.ops, access.op - 30, &report::ViewOp::number), it.view.ops.end())
        << "neighbours";
  }
  auto sync = std::ranges::find(it.view.ops, OpClass::Sync, &report::ViewOp::kind);
  ASSERT_NE(sync, it.view.ops.end());
  EXPECT_EQ(edges_of(it.view).size(), 1u) << "with what it waited for";
  EXPECT_EQ(it.view.ops[0].kind, OpClass::Alloc) << "and the beginning";
  EXPECT_EQ(it.view.ops[20].number, 19u);
  for (std::size_t i = 1; i < it.view.ops.size(); ++i) EXPECT_GT(it.view.ops[i].position, it.view.ops[i - 1].position);
}

TEST(Timeline, WaitsWithoutEndDoNotPushOutTheRest) {
  trace::TraceBuilder t = two_streams();
  for (int i = 0; i < 3000; ++i) {
    t.fill_async(kA, kBuffer, 64);
    t.at({0x401300}).sync_stream(kA);
  }
  t.copy_async("cuMemcpyHtoDAsync_v2", kA, kBuffer, 0x5000, 4096);
  t.launch(kB, 1, {pointer_word(0, kBuffer)}, 64);
  const Seen it = seen(t, 300);
  EXPECT_EQ(it.view.ops.size(), 300u);
  ASSERT_EQ(it.findings.size(), 1u);
  EXPECT_NE(std::ranges::find(it.view.ops, it.findings[0].accesses[1].op, &report::ViewOp::number), it.view.ops.end());
}

TEST(Timeline, AnEmptyRun) {
  const RunView view = seen(trace::TraceBuilder{}).view;
  EXPECT_TRUE(view.ops.empty());
  EXPECT_TRUE(view.lanes.empty());
}

}  // namespace
}  // namespace streamsan::judge
