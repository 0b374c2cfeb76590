// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader against whole, cut, overwritten, running and punched traces.
#include "trace/reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>

#include "judge/testing/trace_builder.h"
#include "judge/tests/temporary_file.h"
#include "ordering/api/row.h"

namespace streamsan::trace {
namespace {

/// Everything a reader yields and says about a file.
struct Outcome {
  std::string open_error;
  std::vector<Kind> kinds;
  std::vector<std::uint64_t> positions;
  std::uint64_t unpublished = 0;
  std::uint64_t removed = 0;
  std::string problem;
};

Outcome read(const std::string& bytes) {
  TemporaryFile file(bytes);
  Outcome out;
  auto reader = Reader::open(file.path(), {}, out.open_error);
  if (!reader) return out;
  Item item;
  while (reader->next(item) == Step::Record) {
    out.kinds.push_back(item.record->kind);
    out.positions.push_back(item.position);
  }
  out.unpublished = reader->unpublished();
  out.removed = reader->removed();
  out.problem = reader->problem();
  return out;
}

template <typename Value>
void poke(std::string& bytes, std::size_t at, Value value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

constexpr std::size_t slot_at(std::uint64_t position) { return kHeaderBytes + position * kSlotBytes; }

TraceBuilder five_records() {
  TraceBuilder trace;
  trace.stream_create(0x1000, NonBlocking::Yes);
  trace.function(1, "_Z1kPf");
  trace.launch(0x1000, 1, {1, 2, 3});
  trace.sync_stream(0x1000);
  return trace;
}

TEST(Reader, YieldsRecordsInSlotOrderWithTheirPayload) {
  TemporaryFile file(five_records().bytes());
  std::string error;
  auto reader = Reader::open(file.path(), {}, error);
  ASSERT_TRUE(reader) << error;
  Item item;
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->kind, Kind::StreamCreate);
  EXPECT_EQ(item.record->as<Kind::StreamCreate>().handle, 0x1000u);
  EXPECT_TRUE(item.payload.empty());
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->kind, Kind::Function);
  EXPECT_EQ(payload_text(item.payload, 0, item.record->as<Kind::Function>().name_bytes), "_Z1kPf");
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->kind, Kind::Launch);
  EXPECT_EQ(item.record->thread, 1);
  ASSERT_EQ(item.payload.size(), kContinuationWords);
  EXPECT_EQ(item.payload[2], 3u);
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->kind, Kind::SyncStream);
  std::uint64_t sync = item.position;
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->kind, Kind::CallEnd);
  EXPECT_EQ(item.record->as<Kind::CallEnd>().position, sync);
  EXPECT_FALSE(item.cancelled);
  EXPECT_EQ(reader->next(item), Step::End);
  EXPECT_EQ(reader->next(item), Step::End) << "the end stays the end";
  EXPECT_EQ(reader->problem(), "");
  EXPECT_EQ(reader->unpublished(), 0u);
  EXPECT_EQ(reader->end(), End::Exited);
}

TEST(Reader, FunctionsAreFoundByTheNamesThatTheTraceCarries) {
  TraceBuilder trace;
  trace.set_functions({"cuStreamDestroy_v2", "cuNobodyKnows", "cuStreamCreate"});
  trace.stream_create(0x1000, NonBlocking::Yes);
  trace.add(Kind::StreamAction, "cuNobodyKnows", {0x1000});
  trace.stream_destroy(0x1000);
  std::string bytes = trace.bytes();
  poke(bytes, slot_at(2) + offsetof(Record, api), std::uint16_t{3});
  TemporaryFile file(bytes);
  std::string error;
  auto reader = Reader::open(file.path(), {}, error);
  ASSERT_TRUE(reader) << error;
  Item item;
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->api, api::Index::cuStreamCreate);
  EXPECT_EQ(item.record->as<Kind::StreamCreate>().handle, 0x1000u);
  EXPECT_EQ(item.foreign, "");
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_GE(item.record->api, api::kRowCount);
  EXPECT_EQ(item.record->kind, Kind::StreamAction);
  EXPECT_EQ(item.foreign, "cuNobodyKnows");
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->api, kNoFunction) << "a number in no table";
  EXPECT_EQ(item.foreign, "");
}

TEST(Reader, SkipsCancelledRecordsButNotTheEndOfAFailedCall) {
  TraceBuilder trace;
  trace.add(Kind::EventDestroy, "cuEventDestroy_v2", {1}, {}, 0, State::Cancelled);
  trace.sync_stream(1, false);
  TemporaryFile file(trace.bytes());
  std::string error;
  auto reader = Reader::open(file.path(), {}, error);
  Item item;
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->kind, Kind::SyncStream);
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->kind, Kind::CallEnd);
  EXPECT_TRUE(item.cancelled);
  EXPECT_EQ(reader->next(item), Step::End);
}

TEST(Reader, GoesOverChunkBoundariesAndPads) {
  TraceBuilder trace;
  std::vector<std::uint64_t> expected;
  while (trace.slots() < 2 * kChunkSlots + 100) expected.push_back(trace.launch(1, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9}));
  Outcome out = read(trace.bytes());
  EXPECT_EQ(out.positions, expected);
  EXPECT_EQ(out.problem, "");
  EXPECT_NE(expected.back(), (expected.size() - 1) * 3) << "the test must have met a pad";
}

TEST(Reader, CountsCallsThatNeverReturned) {
  TraceBuilder trace;
  std::uint64_t running[9] = {};
  trace.stream_create(0x1000, NonBlocking::No);
  trace.add(Kind::Launch, "cuLaunchKernel", {1, 0, 1, 1, 0, 9}, running, 0, State::Reserved);
  trace.stream_destroy(0x1000);
  trace.add(Kind::Pad, "", {}, {}, 0, State::Reserved);
  Outcome out = read(trace.bytes());
  EXPECT_EQ(out.kinds, (std::vector{Kind::StreamCreate, Kind::StreamDestroy}));
  EXPECT_EQ(out.unpublished, 2u);
  EXPECT_EQ(out.problem, "");
}

TEST(Reader, RefusesWhatIsNoTrace) {
  std::string whole = five_records().bytes();
  EXPECT_EQ(read("").open_error, "it is too short to be a StreamSan trace");
  EXPECT_EQ(read(whole.substr(0, kHeaderBytes - 1)).open_error, "it is too short to be a StreamSan trace");
  std::string bytes = whole;
  poke(bytes, offsetof(FileHeader, magic), std::uint64_t{1});
  EXPECT_EQ(read(bytes).open_error, "it is not a StreamSan trace");
  bytes = whole;
  poke(bytes, offsetof(FileHeader, version), kVersion + 1);
  EXPECT_EQ(read(bytes).open_error, "it has trace format " + std::to_string(kVersion + 1) + ", this version reads " +
                                        std::to_string(kOldestVersion) + " to " + std::to_string(kVersion));
  bytes = whole;
  poke(bytes, offsetof(FileHeader, slot_bytes), std::uint32_t{63});
  EXPECT_EQ(read(bytes).open_error, "its header is corrupt");
  for (std::size_t at :
       {offsetof(FileHeader, api_rows), offsetof(FileHeader, api_hash), offsetof(FileHeader, header_bytes),
        offsetof(FileHeader, functions_at), offsetof(FileHeader, functions_bytes)}) {
    for (const std::uint32_t value : {0u, 1u, 0xfffff000u, 0xffffffffu}) {
      bytes = whole;
      poke(bytes, at, value);
      EXPECT_EQ(read(bytes).open_error, "its header is corrupt") << at << " " << value;
    }
  }
  bytes = whole;
  poke(bytes, offsetof(FileHeader, version), kCarriesFunctionsSince - 1);
  poke(bytes, offsetof(FileHeader, api_hash), std::uint64_t{1});
  EXPECT_NE(read(bytes).open_error.find("unknown version of StreamSan"), std::string::npos);
  std::string error;
  EXPECT_FALSE(Reader::open("/no/such/file", {}, error));
  EXPECT_EQ(error, "No such file or directory");
  EXPECT_FALSE(Reader::open("/", {}, error));
  EXPECT_EQ(error, "Is a directory");
  EXPECT_EQ(read(whole).open_error, "");
}

TEST(Reader, ReadsWhatIsWholeOfATruncatedTrace) {
  std::string whole = five_records().bytes();
  // Slots: 0 create, 1-2 function, 3-4 launch, 5 sync, 6 end.
  Outcome out = read(whole.substr(0, slot_at(5)));
  EXPECT_EQ(out.kinds, (std::vector{Kind::StreamCreate, Kind::Function, Kind::Launch}));
  EXPECT_EQ(out.problem, "the trace is truncated: 2 of 7 slots are missing at its end");
  out = read(whole.substr(0, slot_at(4)));
  EXPECT_EQ(out.kinds, (std::vector{Kind::StreamCreate, Kind::Function})) << "half a record is none";
  EXPECT_EQ(out.problem, "the trace is truncated: 4 of 7 slots are missing at its end");
  out = read(whole.substr(0, slot_at(5) + 3));
  EXPECT_EQ(out.kinds.size(), 3u);
  for (std::size_t more : {0, 4}) {
    out = read(whole.substr(0, kHeaderBytes + more));
    EXPECT_EQ(out.kinds.size(), 0u);
    EXPECT_EQ(out.problem, "the trace is truncated: 7 of 7 slots are missing at its end");
  }
  EXPECT_EQ(read(whole.substr(0, slot_at(7))).problem, "") << "only empty slots are missing";
}

TEST(Reader, ATraceCutInACallInProgressIsTruncated) {
  TraceBuilder trace;
  std::uint64_t pointers[16] = {};
  trace.add(Kind::Launch, "cuLaunchKernel", {1, 0, 1, 1, 0, 16}, pointers, 0, State::Reserved);
  EXPECT_EQ(read(trace.bytes().substr(0, slot_at(3))).problem, "");
  EXPECT_EQ(read(trace.bytes().substr(0, slot_at(2))).problem,
            "the trace is truncated: 1 of 3 slots are missing at its end");
}

TEST(Reader, ATraceCutBetweenChunksIsTruncated) {
  TraceBuilder trace;
  while (trace.slots() < kChunkSlots + 3) trace.stream_destroy(1);
  Outcome out = read(trace.bytes().substr(0, slot_at(kChunkSlots)));
  EXPECT_EQ(out.kinds.size(), kChunkSlots);
  EXPECT_EQ(out.problem,
            "the trace is truncated: 3 of " + std::to_string(kChunkSlots + 3) + " slots are missing at its end");
}

TEST(Reader, ATraceThatStoppedGrowingIsNotTruncated) {
  TraceBuilder trace = five_records();
  trace.set_end(End::NoSpace);
  std::string bytes = trace.bytes();
  poke(bytes, offsetof(FileHeader, reserved), std::uint64_t{kChunkSlots + 17});
  Outcome out = read(bytes);
  EXPECT_EQ(out.kinds.size(), 5u);
  EXPECT_EQ(out.problem, "");
}

TEST(Reader, StopsAtACorruptRecord) {
  std::string whole = five_records().bytes();
  auto corrupt = [&](std::size_t at, auto value) {
    std::string bytes = whole;
    poke(bytes, at, value);
    return read(bytes);
  };
  auto said = [](const char* what) {
    return std::string("record 3 is corrupt (") + what + "): what follows it could not be read (the trace has 7 slots)";
  };
  EXPECT_EQ(corrupt(slot_at(3), std::uint32_t{7}).problem, said("unknown state"));
  EXPECT_EQ(corrupt(slot_at(3) + 4, std::uint8_t{200}).problem, said("unknown kind"));
  EXPECT_EQ(corrupt(slot_at(3) + offsetof(Record, w) + 40, std::uint64_t{9}).problem, said("its lengths do not fit"));
  EXPECT_EQ(corrupt(slot_at(3) + offsetof(Record, w) + 40, ~std::uint64_t{0}).problem, said("its lengths do not fit"));
  EXPECT_EQ(corrupt(slot_at(3), std::uint32_t{7}).kinds.size(), 2u);
}

TEST(Reader, LengthsOfPythonFramesAndTheirStacksFit) {
  TraceBuilder trace;
  trace.python_frame(7, "forward", "/home/me/train.py", 42);  // slots 0..1
  trace.at({0x1000, 0x2000}, {7, 7, 7});                      // slots 2..3
  const std::string whole = trace.bytes();
  EXPECT_EQ(read(whole).kinds, (std::vector<Kind>{Kind::PythonFrame, Kind::Stack}));
  const auto broken = [&](std::uint64_t slot, std::size_t word, std::uint64_t value) {
    std::string bytes = whole;
    poke(bytes, slot_at(slot) + offsetof(Record, w) + word * 8, value);
    return !read(bytes).problem.empty();
  };
  EXPECT_FALSE(broken(0, 2, 64 - 17));
  EXPECT_TRUE(broken(0, 2, 64 - 16));
  EXPECT_TRUE(broken(0, 3, ~std::uint64_t{0}));
  EXPECT_FALSE(broken(2, 2, 6));
  EXPECT_TRUE(broken(2, 2, 7));
  EXPECT_TRUE(broken(2, 2, ~std::uint64_t{0}));
  EXPECT_TRUE(broken(2, 1, ~std::uint64_t{0}));
}

TEST(Reader, LengthsOfFootprintsAndArgumentsFit) {
  TraceBuilder trace;
  const std::byte given[40] = {};
  trace.footprint(1, {piece(0, Piece::Mode::Read, 0, 8), piece(0, Piece::Mode::Write, 8, 8)});  // slots 0..2
  trace.launch_known(1, 1, 1, Known::Measured, {1, 2, 3, 4, 5, 6, 7});                          // slots 3..4
  trace.arguments(7, 1, {1, 1, 1}, {1, 1, 1}, given);                                           // slots 5..6
  const std::string whole = trace.bytes();
  EXPECT_EQ(read(whole).kinds, (std::vector<Kind>{Kind::Footprint, Kind::Launch, Kind::Arguments}));
  const auto broken = [&](std::uint64_t slot, std::size_t word, std::uint64_t value) {
    std::string bytes = whole;
    poke(bytes, slot_at(slot) + offsetof(Record, w) + word * 8, value);
    return !read(bytes).problem.empty();
  };
  EXPECT_FALSE(broken(0, 1, 2));
  EXPECT_TRUE(broken(0, 1, 3)) << "three pieces do not fit two slots";
  EXPECT_TRUE(broken(0, 1, ~std::uint64_t{0} / 3)) << "nor does a product that wraps around";
  EXPECT_FALSE(broken(3, 5, 7));
  EXPECT_TRUE(broken(3, 5, 8)) << "no room for the footprint's id";
  EXPECT_TRUE(broken(3, 5, ~std::uint64_t{0}));
  EXPECT_FALSE(broken(5, 2, 40));
  EXPECT_TRUE(broken(5, 2, 41));
  EXPECT_TRUE(broken(5, 2, ~std::uint64_t{0}));
}

TEST(Reader, ARecordNeverReachesOverTheEndOfItsChunk) {
  TraceBuilder trace;
  while (trace.slots() < kChunkSlots) trace.stream_destroy(1);
  std::string bytes = trace.bytes();
  poke(bytes, slot_at(kChunkSlots - 1) + 5, std::uint8_t{1});
  Outcome out = read(bytes);
  EXPECT_EQ(out.kinds.size(), kChunkSlots - 1);
  EXPECT_NE(out.problem.find("it reaches over the end of its chunk"), std::string::npos);
}

/// A trace file that a "process" is still writing.
class Running {
 public:
  /// In shared memory, as traces are by default; not every other file system counts the blocks of a hole.
  explicit Running(const TraceBuilder& trace)
      : file_(trace.bytes(), "/dev/shm"), descriptor_(open(file_.path().c_str(), O_RDWR)) {}
  ~Running() { close(descriptor_); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  template <typename Value>
  void write(std::size_t at, Value value) {
    ASSERT_EQ(pwrite(descriptor_, &value, sizeof value, static_cast<off_t>(at)), static_cast<ssize_t>(sizeof value));
  }
  template <typename Value>
  Value value(std::size_t at) {
    Value out{};
    EXPECT_EQ(pread(descriptor_, &out, sizeof out, static_cast<off_t>(at)), static_cast<ssize_t>(sizeof out));
    return out;
  }
  std::int64_t blocks() {
    struct stat status{};
    fstat(descriptor_, &status);
    return status.st_blocks;
  }
  const std::string& path() { return file_.path(); }

 private:
  TemporaryFile file_;
  int descriptor_;
};

TEST(LiveReader, WaitsForSlotsInUseAndForMore) {
  TraceBuilder trace = five_records();
  trace.set_end(End::Running);
  Running running(trace);
  running.write(offsetof(FileHeader, reserved), std::uint64_t{5});
  running.write(slot_at(3), std::uint32_t{0});  // the launch is not published yet
  std::string error;
  auto reader = Reader::open(running.path(), {.live = true}, error);
  ASSERT_TRUE(reader) << error;
  EXPECT_EQ(running.value<std::uint32_t>(offsetof(FileHeader, judge_attached)), 1u);
  Item item;
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::Wait);
  EXPECT_EQ(reader->next(item), Step::Wait);
  running.write(slot_at(3), std::uint32_t{1});
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->kind, Kind::Launch);
  EXPECT_EQ(reader->next(item), Step::Wait);
  running.write(offsetof(FileHeader, reserved), std::uint64_t{7});
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::Wait);
  reader->finish();
  EXPECT_EQ(reader->next(item), Step::End);
  EXPECT_EQ(reader->unpublished(), 0u);
  reader.reset();
  EXPECT_EQ(running.value<std::uint32_t>(offsetof(FileHeader, judge_attached)), 0u);
}

TEST(LiveReader, AsksByABitOfTheHeader) {
  Running running(five_records());
  std::string error;
  auto reader = Reader::open(running.path(), {.live = true}, error);
  EXPECT_EQ(running.value<std::uint32_t>(offsetof(FileHeader, asks)), 0u);
  reader->ask(64 * kAskedWords + 70);  // ids wrap around
  EXPECT_EQ(running.value<std::uint64_t>(offsetof(FileHeader, asked) + 8), std::uint64_t{1} << 6);
  EXPECT_EQ(running.value<std::uint32_t>(offsetof(FileHeader, asks)), 1u);
}

TEST(Reader, ATraceThatIsReadLaterIsAskedNothing) {
  Running running(five_records());
  std::string error;
  auto reader = Reader::open(running.path(), {}, error);
  reader->ask(1);
  EXPECT_EQ(running.value<std::uint32_t>(offsetof(FileHeader, asks)), 0u);
}

TEST(LiveReader, AfterTheEndOfTheProcessACallInProgressIsSkipped) {
  TraceBuilder trace = five_records();
  Running running(trace);
  running.write(slot_at(3), std::uint32_t{0});
  std::string error;
  auto reader = Reader::open(running.path(), {.live = true}, error);
  Item item;
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::Wait);
  reader->finish();
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->kind, Kind::SyncStream);
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::End);
  EXPECT_EQ(reader->unpublished(), 1u);
}

TEST(LiveReader, AProcessThatDiedWhileGrowingTheFileIsNotTruncated) {
  TraceBuilder trace;
  while (trace.slots() < kChunkSlots) trace.stream_destroy(1);
  trace.set_end(End::Running);
  Running running(trace);
  running.write(offsetof(FileHeader, reserved), std::uint64_t{kChunkSlots + 3});
  std::string error;
  auto reader = Reader::open(running.path(), {.live = true}, error);
  Item item;
  std::uint64_t records = 0;
  while (reader->next(item) == Step::Record) ++records;
  EXPECT_EQ(records, kChunkSlots);
  reader->finish();
  EXPECT_EQ(reader->next(item), Step::End);
  EXPECT_EQ(reader->unpublished(), 3u);
  EXPECT_EQ(reader->problem(), "");
}

TEST(LiveReader, SeesThatTheFileHasGrownUnderARecord) {
  TraceBuilder trace = five_records();
  trace.set_end(End::Running);
  Running running(trace);
  ASSERT_EQ(truncate(running.path().c_str(), static_cast<off_t>(slot_at(4))), 0);
  std::string error;
  auto reader = Reader::open(running.path(), {.live = true}, error);
  Item item;
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::Wait) << "half of the launch is there";
  ASSERT_EQ(truncate(running.path().c_str(), static_cast<off_t>(slot_at(kChunkSlots))), 0);
  ASSERT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(item.record->kind, Kind::Launch);
}

TEST(LiveReader, FinishIsAnEndAlsoForAWriterThatGoesOn) {
  TraceBuilder trace = five_records();
  Running running(trace);
  running.write(offsetof(FileHeader, reserved), std::uint64_t{3});
  std::string error;
  auto reader = Reader::open(running.path(), {.live = true}, error);
  reader->finish();
  running.write(offsetof(FileHeader, reserved), std::uint64_t{7});
  Item item;
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::Record);
  EXPECT_EQ(reader->next(item), Step::End);
}

TEST(LiveReader, GivesReadChunksBackAndALaterReaderCountsTheHoles) {
  TraceBuilder trace;
  while (trace.slots() < 2 * kChunkSlots + 100) trace.stream_destroy(1);
  Running running(trace);
  std::int64_t before = running.blocks();
  std::string error;
  auto reader = Reader::open(running.path(), {.live = true, .consume = true}, error);
  reader->finish();
  Item item;
  while (reader->next(item) == Step::Record) {
  }
  reader.reset();
  EXPECT_EQ(running.value<std::uint64_t>(offsetof(FileHeader, consumed)), 2 * kChunkSlots);
  EXPECT_LE(running.blocks(), before - static_cast<std::int64_t>(2 * kChunkBytes / 512));

  reader = Reader::open(running.path(), {}, error);
  std::uint64_t records = 0;
  while (reader->next(item) == Step::Record) ++records;
  EXPECT_EQ(records, 100u);
  EXPECT_EQ(reader->removed(), 2 * kChunkSlots);
  EXPECT_EQ(reader->unpublished(), 0u);
}

TEST(Reader, WithoutConsumeTheFileStaysWhole) {
  TraceBuilder trace;
  while (trace.slots() < kChunkSlots + 100) trace.stream_destroy(1);
  Running running(trace);
  std::int64_t before = running.blocks();
  std::string error;
  auto reader = Reader::open(running.path(), {.live = true}, error);
  reader->finish();
  Item item;
  while (reader->next(item) == Step::Record) {
  }
  EXPECT_EQ(running.blocks(), before);
}

}  // namespace
}  // namespace streamsan::trace
