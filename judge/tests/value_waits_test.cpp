// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits of streams for values in memory, whose writes come before or after them (value_waits.h).
#include "judge/value_waits.h"

#include <gtest/gtest.h>

#include "judge/tests/two_streams.h"

namespace streamsan::judge::two_stream_tests {
namespace {

constexpr std::uint64_t kFlag = 0x9000, kFlag2 = 0x9100, kC = 0x3c00;
constexpr std::uint64_t kEqual = 1;  // CU_STREAM_WAIT_VALUE_EQ; 0: at least the value

void wait(TraceBuilder& trace, std::uint64_t stream, std::uint64_t word, std::uint64_t value, std::uint64_t how = 0) {
  trace.add(trace::Kind::StreamJoinsAll, "cuStreamWaitValue32_v2", {stream, 0, word, value, how, 32});
}
void write(TraceBuilder& trace, std::uint64_t stream, std::uint64_t word, std::uint64_t value) {
  trace.add(trace::Kind::StreamAction, "cuStreamWriteValue32_v2", {stream, 0, 0, 0, word, value});
}

bool certain(const std::vector<Finding>& findings) {
  return findings.size() == 1 && findings[0].severity == report::Severity::Error;
}
bool possible(const std::vector<Finding>& findings) {
  return findings.size() == 1 && findings[0].severity == report::Severity::Possible;
}

/// What is found if B consumes behind what `before` does, and A produces then, and writes the value.
template <class Before>
std::vector<Finding> found(Before before, std::uint64_t value = 0) {
  TraceBuilder trace = two_streams();
  before(trace);
  consume(trace);
  produce(trace);
  write(trace, kA, kFlag, value);
  return judge(trace);
}

TEST(ValueWaits, WorkBehindAnOpenWaitIsInDoubt) {
  EXPECT_TRUE(certain(found([](TraceBuilder&) {})));
  EXPECT_TRUE(possible(found([](TraceBuilder& t) { wait(t, kB, kFlag, 1); })));
  EXPECT_TRUE(possible(found([](TraceBuilder& t) { write(t, kA, kFlag, 2), wait(t, kB, kFlag, 1, kEqual); })));
  EXPECT_TRUE(possible(found([](TraceBuilder& t) { write(t, kA, kFlag, 1), wait(t, kB, kFlag, 2); })));
  EXPECT_TRUE(possible(found([](TraceBuilder& t) { write(t, kA, kFlag2, 1), wait(t, kB, kFlag, 1); })));
}

TEST(ValueWaits, AWriteBeforeTheWaitLeavesNoDoubt) {
  EXPECT_TRUE(certain(found([](TraceBuilder& t) { write(t, kA, kFlag, 1), wait(t, kB, kFlag, 1); })));
  EXPECT_TRUE(certain(found([](TraceBuilder& t) { write(t, kA, kFlag, 2), wait(t, kB, kFlag, 1); })));
  EXPECT_TRUE(certain(found([](TraceBuilder& t) { wait(t, kB, kFlag, 1), write(t, kA, kFlag, 1); })));
}

TEST(ValueWaits, AValueThatWasOverwrittenIsNotThere) {
  EXPECT_TRUE(possible(found([](TraceBuilder& t) {
    write(t, kA, kFlag, 1), t.copy_async("cuMemcpyHtoDAsync_v2", kA, kFlag, kHost, 4), wait(t, kB, kFlag, 1);
  })));
  EXPECT_TRUE(certain(found([](TraceBuilder& t) {
    write(t, kA, kFlag, 1), t.copy_async("cuMemcpyHtoDAsync_v2", kA, kFlag2, kHost, 4), wait(t, kB, kFlag, 1);
  })));
}

TEST(ValueWaits, AWriteBehindTheOtherWorkOrdersTheTwo) {
  EXPECT_EQ(found([](TraceBuilder& t) { wait(t, kB, kFlag, 1); }, 1).size(), 0u);
  // A stream does not end its own wait.
  EXPECT_TRUE(possible(found([](TraceBuilder& t) { wait(t, kB, kFlag, 1), write(t, kB, kFlag, 2); })));
  // The producer's work may also be submitted between the wait and what is behind it.
  TraceBuilder in_between = two_streams();
  wait(in_between, kB, kFlag, 1);
  produce(in_between);
  write(in_between, kA, kFlag, 1);
  consume(in_between);
  EXPECT_EQ(judge(in_between).size(), 0u);
  TraceBuilder not_written = two_streams();
  wait(not_written, kB, kFlag, 1);
  produce(not_written);
  consume(not_written);
  EXPECT_TRUE(possible(judge(not_written)));
}

TEST(ValueWaits, AWriteOrdersNoOtherStream) {
  TraceBuilder trace = two_streams();
  trace.stream_create(kC, NonBlocking::Yes);
  wait(trace, kB, kFlag, 1);
  produce(trace, kC);
  write(trace, kA, kFlag, 1);
  consume(trace);
  EXPECT_TRUE(certain(judge(trace)));
}

TEST(ValueWaits, EachWaitIsOpenForItself) {
  // A ring whose producer does not wait for the consumer: the second fill may meet the first use.
  TraceBuilder ring = two_streams();
  wait(ring, kB, kFlag, 1);
  consume(ring);
  wait(ring, kB, kFlag, 2);
  write(ring, kA, kFlag, 1);
  produce(ring);
  write(ring, kA, kFlag, 2);
  EXPECT_TRUE(certain(judge(ring)));
  // Two producers: each is known to be in front once it has written its own word.
  TraceBuilder two = two_streams();
  two.stream_create(kC, NonBlocking::Yes);
  two.alloc(kOther, kBytes);
  wait(two, kB, kFlag, 1), wait(two, kB, kFlag2, 1);
  consume(two);
  two.at({0x401300}).launch(kB, kConsume, {pointer_word(0, kOther)}, kBytes);
  produce(two, kA), write(two, kA, kFlag, 1);
  two.at({0x401400}).copy_async("cuMemcpyHtoDAsync_v2", kC, kOther, kHost, kBytes), write(two, kC, kFlag2, 1);
  EXPECT_EQ(judge(two).size(), 0u);
}

TEST(ValueWaits, AWaitIsOverOnceTheHostHasWaited) {
  EXPECT_TRUE(certain(found([](TraceBuilder& t) { wait(t, kB, kFlag, 1), t.sync_stream(kB); })));
  EXPECT_TRUE(certain(found([](TraceBuilder& t) { wait(t, kB, kFlag, 1), t.sync_context(); })));
  EXPECT_TRUE(possible(found([](TraceBuilder& t) { wait(t, kB, kFlag, 1), t.sync_stream(kB, false); }))) << "it failed";
  EXPECT_TRUE(possible(found([](TraceBuilder& t) { wait(t, kB, kFlag, 1), t.sync_stream(kA); })));
  EXPECT_TRUE(certain(found(
      [](TraceBuilder& t) { wait(t, kB, kFlag, 1), t.add(trace::Kind::QueryStream, "cuStreamQuery", {kB, 0}); })));
}

TEST(ValueWaits, ValuesAreComparedAsTheDriverDoes) {
  EXPECT_TRUE((ValueWait{.value = 0xffff'fff0, .how = 0, .bits = 32}.ends_with(3))) << "a counter that has wrapped";
  EXPECT_FALSE((ValueWait{.value = 0xffff'fff0, .how = 0, .bits = 64}.ends_with(3)));
  EXPECT_TRUE((ValueWait{.value = 6, .how = 2}.ends_with(2)));
  EXPECT_FALSE((ValueWait{.value = 6, .how = 2}.ends_with(9)));
  EXPECT_FALSE((ValueWait{.value = 0xffff'0000, .how = 3}.ends_with(0xffff)));
  EXPECT_TRUE((ValueWait{.value = 0xffff'0000, .how = 3}.ends_with(0xfffe)));
}

}  // namespace
}  // namespace streamsan::judge::two_stream_tests
