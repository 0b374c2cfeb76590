// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What records.def makes: numbers that never change, views that lie on the words, and the page about the format.
#include "trace/format.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ordering/api/tests/printed_page.h"

namespace streamsan::trace {
namespace {

using testing_pages::contents;
using testing_pages::output_of;
using Names = std::vector<std::string>;

/// The names of each kind's words, by kind.
std::vector<Names> layouts() {
  std::vector<Names> out;
#define SS_RECORD(...) out.emplace_back();
#define SS_WORD(type_, name_, ...) out.back().push_back(#name_);
#include "trace/records.def"
  return out;
}

Names names(Kind kind) { return layouts()[static_cast<std::size_t>(kind)]; }

// Traces that exist count by them.
TEST(Format, TheNumbersOfKindsStay) {
  EXPECT_EQ(static_cast<int>(Kind::Pad), 0);
  EXPECT_EQ(static_cast<int>(Kind::Message), 5);
  EXPECT_EQ(static_cast<int>(Kind::Copy), 7);
  EXPECT_EQ(static_cast<int>(Kind::CallEnd), 23);
  EXPECT_EQ(static_cast<int>(Kind::Footprint), 34);
  EXPECT_EQ(static_cast<int>(Kind::CallFailed), 44);
  EXPECT_EQ(static_cast<int>(Kind::Context), 50);
  EXPECT_EQ(static_cast<int>(Kind::MeasuredLaunch), 59);
  EXPECT_GE(kKinds, 51u);
}

TEST(Format, ARecordHasSixWordsAtMost) {
  ASSERT_EQ(layouts().size(), kKinds);
  for (const Names& each : layouts()) EXPECT_LE(each.size(), kRecordWords);
}

TEST(Format, ViewsLieOnTheWordsInTheirOrder) {
  Record record{};
  for (std::uint64_t i = 0; i < kRecordWords; ++i) record.w[i] = 10 + i;
  const auto& copy = record.as<Kind::Copy>();
  EXPECT_EQ(copy.stream, 10u);
  EXPECT_EQ(copy.context, 11u);
  EXPECT_EQ(copy.dst, 12u);
  EXPECT_EQ(copy.src, 13u);
  EXPECT_EQ(copy.width, 14u);
  EXPECT_EQ(copy.shaped, 15u);
  EXPECT_EQ(record.in_stream().context, 11u);
  record.as<Kind::HostAccess>().way = AccessWay::Content;
  EXPECT_EQ(record.w[2], static_cast<std::uint64_t>(AccessWay::Content));
  EXPECT_EQ(record.as<Kind::HostAccess>().way, AccessWay::Content);
}

TEST(Format, AListHasAsManyElementsAsItsWordSays) {
  Record record{};
  record.as<Kind::GraphEdges>().edges = 3;
  EXPECT_EQ(record.as<Kind::GraphEdges>().listed(), 3u);
  record.as<Kind::Footprint>().pieces = 4;
  EXPECT_EQ(record.as<Kind::Footprint>().listed(), 4u);
  // As traces have them.
  static_assert(sizeof(Words<Kind::GraphEdges>::Listed) == 16 && sizeof(Words<Kind::ThreadOrder>::Listed) == 16);
}

TEST(Format, AnEdgeSaysHowItLeavesItsFirstNode) {
  const Edge edge = Edge::of(0x77001122334455, 0x88, true, 5);
  EXPECT_EQ(edge.leaves, 0x8577001122334455u);
  EXPECT_EQ(edge.from(), 0x77001122334455u);
  EXPECT_EQ(edge.to(), 0x88u);
  EXPECT_TRUE(edge.programmatic());
  EXPECT_EQ(edge.port(), 5u);
  EXPECT_FALSE(Edge::of(1, 2, false, 5).programmatic());
}

TEST(Format, WhatIsOfAStreamBeginsWithIt) {
  for (const Kind kind :
       {Kind::Launch, Kind::Copy, Kind::Fill, Kind::HostFunction, Kind::StreamAction, Kind::StreamJoinsAll,
        Kind::EventRecord, Kind::EventWait, Kind::SyncStream, Kind::QueryStream, Kind::CaptureBegin, Kind::CaptureEnd,
        Kind::GraphLaunch, Kind::Signal, Kind::Await, Kind::CallFailed}) {
    const Names words = names(kind);
    ASSERT_GE(words.size(), 2u);
    EXPECT_EQ(words[0], "stream") << static_cast<int>(kind);
    EXPECT_EQ(words[1], "context") << static_cast<int>(kind);
  }
}

// One function writes or reads both.
TEST(Format, PairsHaveTheSameWords) {
  EXPECT_EQ(names(Kind::EventRecord), names(Kind::EventWait));
  EXPECT_EQ(names(Kind::SyncEvent), names(Kind::QueryEvent));
  EXPECT_EQ(names(Kind::BlockAlloc), names(Kind::BlockFree));
  EXPECT_EQ(names(Kind::BlockAlloc), names(Kind::BlockUse));
  EXPECT_EQ(names(Kind::Signal), names(Kind::Await));
  EXPECT_EQ(names(Kind::Unload).size(), names(Kind::ContextDestroy).size());
}

TEST(Format, DefinitionsAreThoseThatLaterRecordsReferTo) {
  for (const Kind kind : {Kind::Module, Kind::Stack, Kind::Function, Kind::Unmodelled, Kind::Message, Kind::Footprint,
                          Kind::Arguments, Kind::PythonFrame, Kind::Context}) {
    EXPECT_TRUE(is_definition(kind)) << static_cast<int>(kind);
  }
  for (const Kind kind : {Kind::Pad, Kind::Launch, Kind::NameStream, Kind::HostAccess, Kind::GpuTime}) {
    EXPECT_FALSE(is_definition(kind)) << static_cast<int>(kind);
  }
}

TEST(Format, ThePageIsWhatTheDefinitionsPrint) {
  const std::string printed = output_of("'" STREAMSAN_FORMAT_PRINTER "'");
  ASSERT_FALSE(printed.empty());
  EXPECT_TRUE(contents(STREAMSAN_FORMAT_PAGE) == printed)
      << STREAMSAN_FORMAT_PAGE << " is not what records.def prints now: run `ninja trace-format`";
}

}  // namespace
}  // namespace streamsan::trace
