// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Damaged traces, all the way from the file to the findings: nothing crashes, hangs or runs out of memory, whatever
// bytes a trace holds. 2,000 random mutations of a valid trace, reproducible by their number. Built twice: as it is and
// for AddressSanitizer (streamsan_fuzz_test).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "judge/explain.h"
#include "judge/hazards.h"
#include "judge/judge.h"
#include "judge/testing/trace_builder.h"
#include "judge/tests/temporary_file.h"
#include "judge/timeline.h"
#include "trace/reader.h"

namespace streamsan::judge {
namespace {

using trace::NonBlocking;
using trace::pointer_word;

/// A bit of everything.
trace::TraceBuilder rich_trace() {
  trace::TraceBuilder t;
  t.module("/opt/app/demo", 0x400000, 0x400000, 0x500000);
  t.function(1, "_Z7consumePKfPf");
  t.stream_create(0x1000, NonBlocking::Yes);
  t.stream_create(0x2000, NonBlocking::No);
  t.name_stream(0x1000, "loader");
  t.event_create(0xE0);
  t.at({0x401000, 0x402000}).alloc(0x700000000000, 65536);
  t.alloc(0x700000100000, 65536, ordering::MemoryKind::DeviceAsync, 0x1000);
  t.alloc(0x600000000000, 65536, ordering::MemoryKind::Pinned);
  for (std::uint64_t i = 0; i < 40; ++i) {
    t.on_thread(static_cast<std::uint16_t>(1 + i % 3));
    t.at({0x401000 + i * 16, 0x402000});
    t.copy_async("cuMemcpyHtoDAsync_v2", 0x1000, 0x700000000000 + i * 64, 0x600000000000, 4096);
    if (i % 4 == 0) t.event_record(0x1000, 0xE0);
    if (i % 5 == 0) t.event_wait(0x2000, 0xE0);
    t.launch(0x2000, 1, {pointer_word(0, 0x700000000000), pointer_word(1, 0x700000100000)}, 4096, i % 3);
    if (i % 2) {
      trace::Piece rows = trace::piece(0, trace::Piece::Mode::Write, 64, 128);
      rows.rows = static_cast<std::uint32_t>(1 + i);
      rows.slices = 2;
      rows.pitch = 256;
      rows.slice_pitch = 16384;
      std::vector<trace::Piece> pieces(i == 7 ? 700 : 3, trace::piece(1, trace::Piece::Mode::Read, 0, 512));
      pieces[0] = rows;
      pieces[1] = trace::piece(trace::Piece::kAbsolute, trace::Piece::Mode::Atomic, 0x700000002000, 64);
      t.footprint(i % 5, pieces, i % 3 == 0 ? std::uint64_t{trace::kIncomplete} : 0);
    }
    t.launch_known(i % 3 ? 0x1000 : 0x2000, 1, i % 6, i % 4 ? trace::Known::Learned : trace::Known::Measured,
                   {pointer_word(0, 0x700000000000), pointer_word(1, 0x700000100000)}, 4096, i % 3);
    const std::byte arguments[20] = {};
    t.arguments(i % 3, 1, {4, 1, 1}, {256, 1, 1}, arguments);
    std::uint64_t shape[8] = {256, 256, 4, 1024, 1024, 2, 0, 0};
    t.add(trace::Kind::Copy, "cuMemcpy3DAsync_v2", {1, 0xC0, 0x700000000000, 0x700000100000, 128, 1}, shape,
          trace::kAsyncForm);
    t.fill_async(2, 0x700000100000, 512);
    if (i % 7 == 0) t.sync_stream(1);
    t.host_access(0x600000000000, 64, i % 2 != 0, static_cast<trace::AccessWay>(i % 3), i % 3 == 1 ? "write" : "");
    if (i % 8 == 3) t.host_free(0x500000000000, 4096);
    t.block_alloc(0x700000000000 + i % 4 * 4096, 4096, i % 3 ? std::optional<std::uint64_t>(0x1000) : std::nullopt);
    t.block_use(0x700000000000 + i % 4 * 4096, 0x2000);
    t.block_free(0x700000000000 + i % 3 * 4096, 0x2000, i % 5 ? 0 : trace::kNoStream);
    t.signal(0x1000, i % 2);
    t.await(0x2000, i % 3);
    t.call_failed(i % 2 ? "cuEventRecord" : "cuStreamSynchronize", 0x1000, 0xE0, 400);
    if (i == 20) t.capture_begin(0x1000), t.capture_end(0x1000, 5), t.graph_launch(0x1000, 6);
  }
  t.free_async(0x700000100000, 0x2000);
  t.free(0x700000000000);
  t.unmodelled("cuSomething", 3);
  t.name_memory(0x600000000000, "a buffer");
  t.event_create(0xE1);
  t.event_wait(0x2000, 0xE1);
  t.message("hello");
  t.stream_destroy(0x1000);
  return t;
}

/// Reads and judges a file; returns the number of records.
std::uint64_t judge_file(const std::string& path) {
  std::string error;
  auto reader = trace::Reader::open(path, {}, error);
  if (!reader) return 0;
  Hazards hazards(100);
  Judge judge({}, hazards);
  std::uint64_t asked = 0;
  judge.ask_through([&asked](std::uint64_t) { ++asked; });
  hazards.take_names_from(judge.handles());
  Timeline timeline(judge, hazards, 64);
  judge.add_observer(timeline);
  trace::Item item;
  std::uint64_t records = 0;
  while (reader->next(item) == trace::Step::Record) {
    judge.consume(item);
    ++records;
  }
  Symbolizer none({.enabled = false, .tool = {}});
  timeline.view(explain(hazards.kept(), hazards.marks(), judge.places(), none), none);
  explain(judge.event_misuse(), hazards.kept(), judge.failed_calls(), judge.places(), none);
  return records;
}

TEST(Fuzz, MutatedTracesAreReadWithoutHarm) {
  constexpr int kMutations = 2000;
  trace::TraceBuilder trace = rich_trace();
  const std::string whole = trace.bytes();
  const std::size_t used = trace::kHeaderBytes + trace.slots() * trace::kSlotBytes;
  TemporaryFile file(whole);
  ASSERT_GT(judge_file(file.path()), 100u);
  int descriptor = open(file.path().c_str(), O_RDWR);
  ASSERT_GE(descriptor, 0);
  std::uint64_t read = 0;
  for (int seed = 0; seed < kMutations; ++seed) {
    SCOPED_TRACE("mutation " + std::to_string(seed));
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::string bytes = whole.substr(0, used);
    int changes = 1 + static_cast<int>(random() % 8);
    for (int i = 0; i < changes; ++i) {
      // Mostly in the records: the header has its own tests, and a broken one ends the reading at once.
      std::size_t at =
          random() % 16 == 0 ? random() % 64 : trace::kHeaderBytes + random() % (used - trace::kHeaderBytes);
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 2:
          bytes[at] = static_cast<char>(0xff);
          break;
        default:
          for (std::size_t j = at; j < std::min(at + 8, used); ++j) bytes[j] = static_cast<char>(random());
      }
    }
    ASSERT_EQ(pwrite(descriptor, bytes.data(), used, 0), static_cast<ssize_t>(used));
    std::size_t length = random() % 3 == 0 ? random() % whole.size() : whole.size();
    ASSERT_EQ(ftruncate(descriptor, static_cast<off_t>(length)), 0);
    read += judge_file(file.path());
    ASSERT_EQ(ftruncate(descriptor, static_cast<off_t>(whole.size())), 0);
  }
  close(descriptor);
  EXPECT_GT(read, 10000u) << "the mutations must leave something to judge";
}

}  // namespace
}  // namespace streamsan::judge
