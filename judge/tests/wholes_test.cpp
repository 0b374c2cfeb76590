// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records about a whole: batches, events of contexts, semaphores, memory whose copies wait.
#include <gtest/gtest.h>

#include <functional>

#include "judge/tests/two_streams.h"

namespace streamsan::judge::two_stream_tests {
namespace {

using trace::BatchPart;
using trace::Kind;

void batch(TraceBuilder& trace, std::uint64_t stream, std::initializer_list<BatchPart> parts, bool more = false,
           std::string_view symbol = "cuMemcpyBatchAsync_v2") {
  std::vector<std::uint64_t> words;
  for (const BatchPart& part : parts) {
    for (const std::uint64_t word : {part.dst, part.src, part.width, part.order, part.dst_pitch, part.src_pitch,
                                     part.height, part.dst_slice, part.src_slice, part.depth})
      words.push_back(word);
  }
  trace.add(Kind::StreamAction, symbol, {stream, 0, parts.size(), more}, words);
}

BatchPart copy_of(std::uint64_t dst, std::uint64_t src) {
  return {.dst = dst, .src = src, .width = kBytes, .height = 1, .depth = 1};
}

/// What is found if this is done between the copy into the buffer and the kernel that reads it.
template <class Order>
std::size_t found_with(Order order) {
  TraceBuilder trace = two_streams();
  produce(trace);
  order(trace);
  consume(trace);
  return judge(trace).size();
}

TEST(Wholes, APartOfABatchMayStandInAnEarlierRecord) {
  for (const bool fixed : {false, true}) {
    TraceBuilder trace = two_streams();
    trace.alloc(kOther, kBytes);
    batch(trace, kA, {copy_of(kBuffer, 0x1000)}, true);
    batch(trace, kA, {copy_of(kOther, 0x1000)});
    if (fixed) trace.event_record(kA, kEvent), trace.event_wait(kB, kEvent);
    consume(trace);
    EXPECT_EQ(judge(trace).size(), fixed ? 0u : 1u);
  }
}

TEST(Wholes, ABatchIsJudgedWithItsLastRecordOnly) {
  TraceBuilder trace = two_streams();
  batch(trace, kA, {copy_of(kBuffer, 0x1000)}, true);
  consume(trace);
  EXPECT_EQ(judge(trace).size(), 0u);
}

TEST(Wholes, ADiscardWrites) {
  TraceBuilder trace = two_streams();
  batch(trace, kA, {copy_of(kBuffer, 0)}, false, "cuMemDiscardBatchAsync");
  consume(trace);
  EXPECT_EQ(hazards_of(judge(trace)), (HazardList{"read-after-write/error/no-edge"}));
}

TEST(Wholes, TheAccessOrderOfASource) {
  for (const auto order : {trace::SourceOrder::Stream, trace::SourceOrder::DuringCall, trace::SourceOrder::Any}) {
    TraceBuilder trace = two_streams();
    trace.alloc(kOther, kBytes);
    produce(trace);
    BatchPart part = copy_of(kOther, kBuffer);
    part.order = static_cast<std::uint64_t>(order);
    batch(trace, kA, {part});
    const HazardList racy{"read-after-write/error/source-order"};
    EXPECT_EQ(hazards_of(judge(trace)), order == trace::SourceOrder::Stream ? HazardList{} : racy);
  }
}

TEST(Wholes, EventsOfContexts) {
  const auto context_event = [](TraceBuilder& t, std::uint64_t context, bool waits, bool alone = false) {
    t.add(Kind::ContextEvent, waits ? "cuCtxWaitEvent" : "cuCtxRecordEvent", {context, kEvent, waits, alone});
  };
  constexpr std::uint64_t kHere = TraceBuilder::kContext;
  constexpr std::uint64_t kElsewhere = kHere + 0x100;
  const auto record_and = [&](std::uint64_t context, bool alone) {
    return found_with([&](TraceBuilder& t) { context_event(t, context, false, alone), t.event_wait(kB, kEvent); });
  };
  const auto wait_with = [&](std::uint64_t context, bool alone) {
    return found_with([&](TraceBuilder& t) { t.event_record(kA, kEvent), context_event(t, context, true, alone); });
  };
  for (const auto& with : {std::function<std::size_t(std::uint64_t, bool)>(record_and), {wait_with}}) {
    EXPECT_EQ(with(kHere, false), 0u);
    EXPECT_EQ(with(kHere, true), 0u);
    EXPECT_EQ(with(kElsewhere, true), 1u);
    EXPECT_EQ(with(kElsewhere, false), 0u) << "of which device it is, is not known";
    EXPECT_EQ(with(0, false), 0u);
  }
}

TEST(Wholes, AwaitOfWhatWasNotSignalled) {
  const auto await = [](TraceBuilder& t, std::uint16_t flags) {
    t.add(Kind::Await, "cuWaitExternalSemaphoresAsync", {kB, 0, 7}, {}, flags);
  };
  EXPECT_EQ(found_with([&](TraceBuilder& t) { await(t, 0); }), 1u);
  EXPECT_EQ(found_with([&](TraceBuilder& t) { await(t, trace::kOrEverything); }), 0u);
  EXPECT_EQ(found_with([&](TraceBuilder& t) { t.signal(kB, 7), await(t, trace::kOrEverything); }), 1u);
  EXPECT_EQ(found_with([&](TraceBuilder& t) { t.signal(kA, 7), await(t, trace::kOrEverything); }), 0u);
}

TEST(Wholes, MemoryWhoseCopiesWait) {
  for (const bool on : {false, true}) {
    TraceBuilder trace = two_streams();
    trace.alloc(kOther, kBytes);
    trace.add(Kind::SyncMemory, "cuPointerSetAttribute", {kOther, on});
    trace.copy("cuMemcpyDtoD_v2", kA, kBuffer, kOther, kBytes);
    consume(trace);
    EXPECT_EQ(judge(trace).size(), on ? 0u : 1u);
  }
}

TEST(Wholes, WhatNamesMemoryForOthersIsModelled) {
  TraceBuilder trace = two_streams();
  trace.unmodelled("cuIpcGetMemHandle", 2);
  trace.unmodelled("cuGraphConditionalHandleCreate", 1);
  EXPECT_EQ(judged(trace).unmodelled, (std::vector<std::string>{"cuGraphConditionalHandleCreate (1 call)"}));
  EXPECT_EQ(judged(trace).shared, (std::vector<std::string>{"cuIpcGetMemHandle (2 calls)"}));
}

}  // namespace
}  // namespace streamsan::judge::two_stream_tests
