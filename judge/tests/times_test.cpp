// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timelines by hand, in microseconds from kNow: what the host submits and waits for, and when the GPU ran it.
#include "judge/times.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "judge/hazards.h"
#include "judge/testing/trace_builder.h"
#include "judge/tests/temporary_file.h"
#include "trace/reader.h"

namespace streamsan::judge {
namespace {

using trace::Kind;
using trace::NonBlocking;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0xA, kB = 0xB;
constexpr std::uint64_t kNow = 1'000'000'000;

constexpr std::uint64_t us(std::uint64_t time) { return kNow + time * 1000; }

class Timeline {
 public:
  explicit Timeline(NonBlocking kind = NonBlocking::Yes) {
    trace_.stream_create(kA, kind);
    trace_.stream_create(kB, kind);
    trace_.function(1, "_Z1kv");
  }
  TraceBuilder& trace() { return trace_; }

  std::uint64_t launch(std::uint64_t stream, std::uint64_t start, std::uint64_t end) {
    const std::uint64_t position = trace_.at({0x401000}).launch(stream, 1, {});
    gpu(position, start, end);
    return position;
  }
  void gpu(std::uint64_t position, std::uint64_t start, std::uint64_t end) {
    trace_.add(Kind::GpuTime, "", {position, us(start), us(end)});
  }
  /// A wait for the stream from `begin` to `end`, at the place.
  void wait(std::uint64_t stream, std::uint64_t begin, std::uint64_t end, std::uint64_t place = 0x402000) {
    const std::uint64_t position =
        trace_.at({place}).add(Kind::SyncStream, "cuStreamSynchronize", {stream, TraceBuilder::kContext});
    trace_.add(Kind::CallEnd, "cuStreamSynchronize", {position, us(begin), us(end)});
  }

  struct Result {
    std::vector<SyncCost> costs;  ///< of the places of waits, in the order of their first calls
    TimeTotals totals;
    std::string text;
  };
  Result result(std::size_t patience = Times::kPatience) const {
    Result out;
    TemporaryFile file(trace_.bytes());
    std::string error;
    auto reader = trace::Reader::open(file.path(), {}, error);
    EXPECT_TRUE(reader) << error;
    Hazards hazards(1000);
    Judge judge({}, hazards);
    Times times(judge, patience);
    judge.add_observer(times);
    std::vector<ordering::SiteId> sites;
    trace::Item item;
    while (reader->next(item) == trace::Step::Record) {
      judge.consume(item);
      if (item.record->kind != Kind::SyncStream) continue;
      const ordering::SiteId site = judge.site_of(*item.record);
      if (std::find(sites.begin(), sites.end(), site) == sites.end()) sites.push_back(site);
    }
    times.finish();
    for (ordering::SiteId site : sites) out.costs.push_back(times.cost(site) ? *times.cost(site) : SyncCost{});
    out.totals = times.totals();
    out.text = times.text();
    return out;
  }

 private:
  TraceBuilder trace_;
};

TEST(Times, TheHostIsBlockedAlsoWithoutTimesOfTheGpu) {
  Timeline line;
  line.trace().launch(kA, 1, {});
  line.wait(kA, 10, 110);
  line.trace().launch(kA, 1, {});
  line.wait(kA, 200, 250);
  auto result = line.result();
  ASSERT_EQ(result.costs.size(), 1u);
  EXPECT_EQ(result.costs[0].calls, 2u);
  EXPECT_DOUBLE_EQ(*result.costs[0].blocked_ms, 0.150);
  EXPECT_FALSE(result.costs[0].gpu_idle_ms);
  EXPECT_FALSE(result.costs[0].overlap_ms);
  EXPECT_EQ(result.text, "the host was blocked for 0.150 ms of 0.240 ms in 2 blocking calls");
}

TEST(Times, TracesWithoutTimesOfCallsSayNothing) {
  Timeline line;
  line.launch(kA, 0, 10);
  line.trace().at({0x402000}).sync_stream(kA);
  auto result = line.result();
  EXPECT_FALSE(result.costs[0].blocked_ms);
  EXPECT_EQ(result.text, "");
}

TEST(Times, TheGpuIdlesFromItsLastOperationToTheNext) {
  Timeline line;
  line.launch(kA, 0, 100);
  line.wait(kA, 10, 105);
  line.launch(kA, 130, 200);
  auto result = line.result();
  EXPECT_DOUBLE_EQ(*result.costs[0].gpu_idle_ms, 0.030);
  EXPECT_DOUBLE_EQ(*result.costs[0].overlap_ms, 0) << "one stream";
  EXPECT_DOUBLE_EQ(result.totals.gpu_busy_ms, 0.170);
  EXPECT_DOUBLE_EQ(result.totals.span_ms, 0.200);
}

TEST(Times, NoMoreCanBeWonThanTheHostWaited) {
  Timeline line;
  line.launch(kA, 0, 100);
  line.wait(kA, 98, 105);  // and then the host does something else for long
  line.launch(kA, 5000, 5100);
  EXPECT_DOUBLE_EQ(*line.result().costs[0].gpu_idle_ms, 0.007);
}

TEST(Times, AnotherStreamKeepsTheGpuBusy) {
  Timeline line;
  line.launch(kB, 0, 120);
  line.launch(kA, 0, 100);
  line.wait(kA, 10, 105);
  line.launch(kA, 130, 200);
  EXPECT_DOUBLE_EQ(*line.result().costs[0].gpu_idle_ms, 0.010);
  Timeline busy;
  busy.launch(kB, 0, 300);
  busy.launch(kA, 0, 100);
  busy.wait(kA, 10, 105);
  busy.launch(kA, 130, 200);
  EXPECT_DOUBLE_EQ(*busy.result().costs[0].gpu_idle_ms, 0);
}

TEST(Times, AGapIsCountedOnce) {
  Timeline line;
  line.launch(kA, 0, 100);
  line.wait(kA, 10, 105, 0x402000);
  line.wait(kA, 106, 116, 0x403000);
  line.launch(kA, 130, 200);
  auto result = line.result();
  EXPECT_DOUBLE_EQ(*result.costs[0].gpu_idle_ms, 0.030);
  EXPECT_DOUBLE_EQ(*result.costs[1].gpu_idle_ms, 0);
  EXPECT_DOUBLE_EQ(result.totals.gpu_idle_ms, 0.030);
}

TEST(Times, NothingFollowsTheLastWait) {
  Timeline line;
  line.launch(kA, 0, 100);
  line.wait(kA, 10, 105);
  EXPECT_DOUBLE_EQ(*line.result().costs[0].gpu_idle_ms, 0);
}

TEST(Times, WorkOfAnotherStreamCouldHaveOverlapped) {
  Timeline line;
  line.launch(kA, 0, 100);
  line.wait(kA, 20, 105);
  line.launch(kB, 130, 170);
  EXPECT_DOUBLE_EQ(*line.result().costs[0].overlap_ms, 0.040) << "all of it";
  Timeline longer;
  longer.launch(kA, 0, 100);
  longer.wait(kA, 20, 105);
  longer.launch(kB, 130, 930);
  EXPECT_DOUBLE_EQ(*longer.result().costs[0].overlap_ms, 0.080) << "no longer than the wait";
  Timeline held;
  held.launch(kA, 0, 100);
  held.launch(kB, 0, 70);
  held.wait(kA, 20, 105);
  held.launch(kB, 130, 930);
  EXPECT_DOUBLE_EQ(*held.result().costs[0].overlap_ms, 0.030) << "behind what its stream held already";
}

TEST(Times, WorkBehindTheNextWaitCouldNot) {
  Timeline line;
  line.launch(kA, 0, 100);
  line.wait(kA, 20, 105, 0x402000);
  line.launch(kA, 110, 120);
  line.wait(kA, 110, 125, 0x403000);
  line.launch(kB, 130, 170);
  auto result = line.result();
  EXPECT_DOUBLE_EQ(*result.costs[0].overlap_ms, 0);
  EXPECT_DOUBLE_EQ(*result.costs[1].overlap_ms, 0.010);
}

TEST(Times, StreamsThatTheLegacyStreamOrdersDoNotOverlap) {
  Timeline line(NonBlocking::No);
  line.launch(trace::kLegacyStream, 0, 100);
  line.wait(trace::kLegacyStream, 20, 105);
  line.launch(kB, 130, 170);
  EXPECT_DOUBLE_EQ(*line.result().costs[0].overlap_ms, 0);
}

TEST(Times, TimesOfAGraphAreOneSpan) {
  Timeline line;
  const std::uint64_t graph = line.trace().graph_launch(kA, 0x77);
  line.gpu(graph, 0, 40);
  line.gpu(graph, 60, 100);
  line.wait(kA, 10, 105);
  line.launch(kA, 130, 200);
  auto result = line.result();
  EXPECT_DOUBLE_EQ(*result.costs[0].gpu_idle_ms, 0.030);
  EXPECT_EQ(result.totals.timed, 2u);
}

TEST(Times, CapturedLaunchesAreNoOperations) {
  Timeline line;
  line.trace().capture_begin(kA);
  line.trace().launch(kA, 1, {});
  line.trace().capture_end(kA, 0x66);
  EXPECT_EQ(line.result().totals.operations, 0u);
}

TEST(Times, MemoryIsBoundedAndTheSumsAreTheSame) {
  Timeline line;
  line.launch(kB, 0, 1'000'000);  // one that runs for long is not forgotten
  for (std::uint64_t i = 0; i < 3000; ++i) {
    line.launch(kA, i * 1000, i * 1000 + 100);
    line.wait(kA, i * 1000 + 10, i * 1000 + 105);
  }
  auto whole = line.result();
  auto bounded = line.result(16);
  EXPECT_GT(whole.totals.gpu_idle_ms, 100);
  EXPECT_NEAR(whole.totals.gpu_idle_ms, bounded.totals.gpu_idle_ms, 1e-6);
  EXPECT_NEAR(whole.totals.gpu_idle_ms, 1999 * 0.095, 0.2) << "none while the other stream runs";
}

TEST(Times, TimesThatComeTooLateAreCounted) {
  Timeline line;
  const std::uint64_t early = line.trace().at({0x401000}).launch(kA, 1, {});
  for (std::uint64_t i = 0; i < 2000; ++i) line.launch(kA, i, i + 1);
  line.gpu(early, 0, 1);
  EXPECT_EQ(line.result(16).totals.late, 1u);
  EXPECT_EQ(line.result().totals.late, 0u);
}

TEST(Times, WildTimesHarmNobody) {
  Timeline line;
  const std::uint64_t position = line.launch(kA, 0, 100);
  line.trace().add(Kind::GpuTime, "", {position, UINT64_MAX, 5});
  line.trace().add(Kind::GpuTime, "", {UINT64_MAX, 1, UINT64_MAX});
  line.trace().add(Kind::GpuTime, "", {position, 1, UINT64_MAX});
  line.trace().add(Kind::CallEnd, "cuStreamSynchronize", {UINT64_MAX, 5, 1});
  line.wait(kA, 10, 105);
  line.launch(kA, 130, 200);
  EXPECT_EQ(line.result().costs[0].calls, 1u);
}

}  // namespace
}  // namespace streamsan::judge
