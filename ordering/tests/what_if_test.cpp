// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a replay with variants tells: pairs, exposures, what is put in, what is settled. That the order of variants is
// right is what_if_random_test.cpp's business.
#include "ordering/what_if.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ordering/model.h"

namespace streamsan::ordering {
namespace {

constexpr ContextId kContext{7};
constexpr ThreadId kMain{1};
constexpr Address kDevice = 0x10000;
constexpr Address kPinned = 0x20000;
constexpr Address kPageable = 0x7777'0000;
constexpr Bytes kBytes = 256;

// The call sites of the programs below.
constexpr SiteId kProduce{1}, kSync{2}, kConsume{3}, kSecondSync{4}, kOther{5}, kTouch{6}, kLegacy{7};

class Sink : public WhatIfSink, public HazardSink {
 public:
  void hazard(const Hazard&) override { ++hazards; }
  void variant(VariantId variant, const Cut& cut) override {
    EXPECT_EQ(variant, cuts.size() + 1);
    cuts.push_back(cut);
  }
  void mattered(VariantId variant, OpId) override { mattered_in.push_back(variant); }
  void pair(const Pair& pair) override {
    if (pair.base != PairOrder::Ordered) broken.insert(kBase);
    for (const InVariant& each : pair.variants) {
      if (each.order > pair.base) broken.insert(each.variant);
    }
  }
  void exposed(const Exposure& exposure) override { exposures.push_back(exposure); }
  bool settled(VariantId variant) const override { return variant == settled_variant; }

  [[nodiscard]] bool exposed_to(VariantId variant, Exposure::Why why) const {
    return std::any_of(exposures.begin(), exposures.end(),
                       [&](const Exposure& e) { return e.variant == variant && e.why == why; });
  }

  int hazards = 0;
  std::vector<Cut> cuts;
  std::vector<VariantId> mattered_in;
  std::set<VariantId> broken;  ///< variants with a pair worse than in the base; the base if it has one
  std::vector<Exposure> exposures;
  VariantId settled_variant = ~0u;
};

/// A program with two streams that share one buffer, as a replay of a plan.
class Replay {
 public:
  explicit Replay(const Plan& plan) : what_if_{plan, sink}, model({}, sink, &what_if_) {
    a = model.create_stream(kContext, StreamKind::NonBlocking);
    b = model.create_stream(kContext, StreamKind::NonBlocking);
    model.allocate(at(SiteId{}), {kDevice, kDevice + kBytes}, MemoryKind::Device);
    model.allocate(at(SiteId{}), {kPinned, kPinned + kBytes}, MemoryKind::Pinned);
  }
  static Call at(SiteId site) { return {kMain, site}; }
  void write(StreamId stream, SiteId site, Address base = kDevice) {
    model.fill(at(site), stream, {base, kBytes}, Form::Asynchronous);
    model.returned(kMain, true);
  }
  void copy(StreamId stream, SiteId site, Address dst, Address src, Form form = Form::Asynchronous) {
    model.copy(at(site), stream, {dst, kBytes}, {src, kBytes}, form);
    model.returned(kMain, true);
  }
  void sync(SiteId site) {
    model.sync_context(at(site), kContext);
    model.returned(kMain, true);
  }
  void sync(SiteId site, StreamId stream) {
    model.sync_stream(at(site), stream);
    model.returned(kMain, true);
  }

  Sink sink;

 private:
  WhatIf what_if_;

 public:
  Model model;
  StreamId a, b;
};

Plan each() {
  Plan plan;
  plan.each = true;
  return plan;
}

Plan variant(SiteId cut, std::vector<Instead> instead) {
  Plan plan;
  plan.variants.push_back({.cuts = {{cut, Effect::Wait}}, .instead = std::move(instead)});
  return plan;
}

TEST(WhatIf, ASyncThatAloneOrdersTwoStreamsIsReported) {
  const Plan plan = each();
  Replay run(plan);
  run.write(run.a, kProduce);
  run.sync(kSync);
  run.write(run.b, kConsume);
  ASSERT_EQ(run.sink.cuts, (std::vector<Cut>{{kSync, Effect::Wait}}));
  EXPECT_EQ(run.sink.broken, (std::set<VariantId>{1}));
  EXPECT_EQ(run.sink.hazards, 0);
  EXPECT_EQ(run.sink.mattered_in, (std::vector<VariantId>{1}));
}

TEST(WhatIf, ASyncThatOrdersNothingIsNot) {
  const Plan plan = each();
  Replay run(plan);
  run.write(run.a, kProduce);
  run.sync(kSync);
  run.write(run.a, kConsume);
  run.sync(kSecondSync);
  run.model.end_of_trace();
  EXPECT_TRUE(run.sink.broken.empty());
  // The second is the last to wait for anything.
  EXPECT_FALSE(run.sink.exposed_to(1, Exposure::Why::End));
  EXPECT_TRUE(run.sink.exposed_to(2, Exposure::Why::End));
}

TEST(WhatIf, TwoThatDoTheSameAreRedundantTogether) {
  const auto replay = [](const Plan& plan) {
    Replay run(plan);
    run.write(run.a, kProduce);
    run.sync(kSync);
    run.sync(kSecondSync);
    run.write(run.b, kConsume);
    return run.sink;
  };
  const Plan alone = each();
  EXPECT_TRUE(replay(alone).broken.empty());
  // Of the second call nothing was left to wait for.
  EXPECT_EQ(replay(alone).mattered_in, (std::vector<VariantId>{1}));

  Plan together;
  together.base.cuts = {{kSync, Effect::Wait}, {kSecondSync, Effect::Wait}};
  together.variants = {{.cuts = {{kSync, Effect::Wait}}, .instead = {}},
                       {.cuts = {{kSecondSync, Effect::Wait}}, .instead = {}}};
  EXPECT_EQ(replay(together).broken, (std::set<VariantId>{kBase}));
  EXPECT_EQ(replay(together).hazards, 1);
  // Each by itself mends it.
  class Mends : public Sink {
   public:
    void pair(const Pair& pair) override {
      for (const InVariant& each : pair.variants) mended.push_back(each.variant);
    }
    std::vector<VariantId> mended;
  } mends;
  const WhatIf what_if{together, mends};
  Model model({}, mends, &what_if);
  const StreamId a = model.create_stream(kContext, StreamKind::NonBlocking);
  const StreamId b = model.create_stream(kContext, StreamKind::NonBlocking);
  model.allocate({kMain, {}}, {kDevice, kDevice + kBytes}, MemoryKind::Device);
  const auto write = [&](StreamId stream, SiteId site) {
    model.fill({kMain, site}, stream, {kDevice, kBytes}, Form::Asynchronous);
    model.returned(kMain, true);
  };
  write(a, kProduce);
  for (const SiteId site : {kSync, kSecondSync}) {
    model.sync_context({kMain, site}, kContext);
    model.returned(kMain, true);
  }
  write(b, kConsume);
  EXPECT_EQ(mends.mended, (std::vector<VariantId>{1, 2}));
}

TEST(WhatIf, AnEventWaitInstead) {
  const auto broken = [](StreamId from, StreamId to) {
    const Plan plan = variant(kSync, {{Instead::Kind::EventWait, kSync, from, to, {}}});
    Replay run(plan);
    run.write(run.a, kProduce);
    run.sync(kSync);
    run.write(run.b, kConsume);
    return !run.sink.broken.empty();
  };
  EXPECT_FALSE(broken(StreamId{1}, StreamId{2}));
  EXPECT_TRUE(broken(StreamId{2}, StreamId{1}));
}

TEST(WhatIf, AStreamSyncInstead) {
  const auto broken = [](StreamId which) {
    const Plan plan = variant(kSync, {{Instead::Kind::StreamSync, kSync, which, {}, {}}});
    Replay run(plan);
    run.write(run.a, kProduce);
    run.write(run.b, kOther, kPinned);
    run.sync(kSync);
    run.model.host_access(Replay::at(kTouch), {kDevice, kDevice + 1}, AccessMode::Read);
    return !run.sink.broken.empty();
  };
  EXPECT_FALSE(broken(StreamId{1}));
  EXPECT_TRUE(broken(StreamId{2}));
}

TEST(WhatIf, AnEventBehindTheOperationInstead) {
  const auto replay = [](SiteId behind) {
    const Plan plan = variant(kSync, {{Instead::Kind::EventSync, kSync, StreamId{1}, {}, behind}});
    Replay run(plan);
    run.write(run.a, kOther, kPinned);
    run.copy(run.a, kProduce, kPinned, kDevice);
    run.sync(kSync, run.a);
    run.model.host_access(Replay::at(kTouch), {kPinned, kPinned + 1}, AccessMode::Read);
    return run.sink;
  };
  EXPECT_TRUE(replay(kProduce).broken.empty());
  EXPECT_TRUE(replay(kProduce).exposures.empty());
  EXPECT_FALSE(replay(kOther).broken.empty());
  EXPECT_FALSE(replay(kOther).exposures.empty());
}

TEST(WhatIf, AWaitMovedToWhereItIsNeeded) {
  const auto broken = [](SiteId to) {
    const Plan plan = variant(kSync, {{Instead::Kind::Move, kSync, {}, {}, to}});
    Replay run(plan);
    run.write(run.a, kProduce);
    run.sync(kSync);
    run.write(run.b, kOther, kPinned);
    run.write(run.b, kConsume);
    run.model.host_access(Replay::at(kTouch), {kPageable, kPageable + 1}, AccessMode::Read);
    return !run.sink.broken.empty();
  };
  EXPECT_FALSE(broken(kConsume));
  EXPECT_TRUE(broken(kTouch));
}

TEST(WhatIf, HostMemoryIsAnExposureOfTheCallThatFirstKnows) {
  const Plan plan = each();
  Replay run(plan);
  run.copy(run.a, kProduce, kPinned, kDevice);
  run.sync(kSync);
  run.sync(kSecondSync);
  EXPECT_TRUE(run.sink.exposed_to(1, Exposure::Why::HostRead));
  EXPECT_FALSE(run.sink.exposed_to(2, Exposure::Why::HostRead));
  EXPECT_EQ(run.sink.exposures.front().range, (Range{kPinned, kPinned + kBytes}));
  EXPECT_EQ(run.sink.exposures.front().site, kProduce);
}

TEST(WhatIf, DeviceMemoryIsNone) {
  const Plan plan = each();
  Replay run(plan);
  run.write(run.a, kProduce);
  run.sync(kSync);
  EXPECT_TRUE(run.sink.exposures.empty());
}

TEST(WhatIf, TheSourceOfACopyIsAnExposureToo) {
  const Plan plan = each();
  Replay run(plan);
  run.copy(run.a, kProduce, kDevice, kPageable);
  run.sync(kSync);
  EXPECT_TRUE(run.sink.exposed_to(1, Exposure::Why::HostWrite));
}

TEST(WhatIf, AWaitThatMakesCertainWhatADriverOnlyDoesToday) {
  const Plan plan = each();
  Replay run(plan);
  // Pageable: complete when it returns, by R-CPY-14 only.
  run.copy(run.a, kProduce, kPageable, kDevice);
  run.sync(kSync, run.a);
  run.sync(kSecondSync, run.a);
  ASSERT_EQ(run.sink.cuts.size(), 3u);
  EXPECT_TRUE(run.sink.exposed_to(2, Exposure::Why::HostRead));
  EXPECT_FALSE(run.sink.exposed_to(3, Exposure::Why::HostRead));
  for (const Exposure& exposure : run.sink.exposures) {
    EXPECT_EQ(exposure.also_assumed, exposure.variant != 2);
  }
}

TEST(WhatIf, AQueryBehindAWaitSaysNothingOfAProgramThatDidNotWait) {
  const auto broken = [](bool waits) {
    const Plan plan = each();
    Replay run(plan);
    run.copy(run.a, kProduce, kPinned, kDevice);
    if (waits) run.sync(kSync, run.a);
    run.model.query_stream_succeeded(Replay::at(kOther), run.a);
    run.model.host_access(Replay::at(kTouch), {kPinned, kPinned + 1}, AccessMode::Read);
    EXPECT_FALSE(run.sink.broken.contains(kBase));
    return !run.sink.broken.empty();
  };
  EXPECT_TRUE(broken(true));
  EXPECT_FALSE(broken(false));
}

TEST(WhatIf, WhatIsForgottenOfManyMarksIsStillAnExposure) {
  const Plan plan = each();
  Replay run(plan);
  run.model.host_function(Replay::at(kOther), run.a);
  for (int i = 0; i < 600; ++i) run.copy(run.a, kProduce, kDevice, kPinned);
  run.sync(kSync);
  EXPECT_TRUE(std::any_of(run.sink.exposures.begin(), run.sink.exposures.end(),
                          [](const Exposure& e) { return e.range.empty(); }));
  run.sink.exposures.clear();
  run.copy(run.a, kProduce, kDevice, kPinned);
  run.sync(kSync);
  EXPECT_EQ(run.sink.exposures.size(), 1u);
}

TEST(WhatIf, AnActionForTheHostIsAnExposure) {
  for (const bool for_host : {true, false}) {
    const Plan plan = each();
    Replay run(plan);
    run.model.stream_action(Replay::at(kProduce), run.a, for_host);
    run.sync(kSync);
    EXPECT_EQ(run.sink.exposed_to(1, Exposure::Why::Action), for_host);
  }
}

TEST(WhatIf, GraphsAndHostFunctionsAreExposures) {
  const Plan plan = each();
  Replay run(plan);
  run.model.graph_launch(Replay::at(kProduce), run.a, 1);
  run.model.host_function(Replay::at(kOther), run.b);
  run.sync(kSync);
  EXPECT_TRUE(run.sink.exposed_to(1, Exposure::Why::Graph));
  EXPECT_TRUE(run.sink.exposed_to(1, Exposure::Why::HostFunction));
}

TEST(WhatIf, EachCallOfASiteIsLookedAt) {
  const Plan plan = each();
  Replay run(plan);
  for (int i = 0; i < 3; ++i) {
    run.copy(run.a, kProduce, kPinned, kDevice);
    run.sync(kSync);
  }
  EXPECT_EQ(run.sink.exposures.size(), 3u);
  EXPECT_EQ(run.sink.mattered_in.size(), 3u);
}

TEST(WhatIf, ASynchronousCopyIsASiteAsWell) {
  const Plan plan = each();
  Replay run(plan);
  run.write(run.a, kProduce, kPinned);
  run.copy(run.a, kSync, kPinned, kDevice, Form::Synchronous);
  run.write(run.b, kConsume);
  ASSERT_EQ(run.sink.cuts, (std::vector<Cut>{{kSync, Effect::Wait}}));
  EXPECT_EQ(run.sink.broken, (std::set<VariantId>{1}));
}

TEST(WhatIf, TheBarrierOfTheLegacyStreamIsASite) {
  const auto broken = [](Address address) {
    const Plan plan = each();
    Replay run(plan);
    const StreamId blocking = run.model.create_stream(kContext, StreamKind::Blocking);
    const StreamId legacy = run.model.legacy_stream(kContext);
    run.write(blocking, kProduce);
    run.write(legacy, kLegacy, address);
    EXPECT_EQ(run.sink.cuts, (std::vector<Cut>{{kLegacy, Effect::Barrier}}));
    return !run.sink.broken.empty();
  };
  EXPECT_TRUE(broken(kDevice));
  EXPECT_FALSE(broken(kPinned));
}

TEST(WhatIf, WorkBehindABarrierIsOrderedByThatBarrierOnly) {
  const Plan plan = each();
  Replay run(plan);
  const StreamId blocking = run.model.create_stream(kContext, StreamKind::Blocking);
  const StreamId legacy = run.model.legacy_stream(kContext);
  run.write(legacy, kLegacy);
  run.write(legacy, kOther, kPinned);
  run.write(blocking, kConsume);
  // The second barrier is after the first action, and the first one stays without the second.
  EXPECT_EQ(run.sink.cuts.size(), 2u);
  EXPECT_TRUE(run.sink.broken.empty());
}

TEST(WhatIf, ASettledVariantIsNotReportedAnyMore) {
  const Plan plan = each();
  Replay run(plan);
  run.sink.settled_variant = 1;
  run.write(run.a, kProduce);
  run.sync(kSync);
  run.write(run.b, kConsume);
  EXPECT_TRUE(run.sink.broken.empty());
}

TEST(WhatIf, WithoutAPlanNothingIsCut) {
  const Plan plan;
  Replay run(plan);
  run.write(run.a, kProduce);
  run.sync(kSync);
  run.write(run.b, kConsume);
  EXPECT_TRUE(run.sink.broken.empty());
  EXPECT_TRUE(run.sink.cuts.empty());
}

}  // namespace
}  // namespace streamsan::ordering
