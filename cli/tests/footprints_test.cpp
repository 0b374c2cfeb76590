// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `streamsan footprints` from the outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/tests/command.h"
#include "judge/testing/trace_builder.h"

namespace streamsan::cli {
namespace {

using Json = nlohmann::json;
using trace::Known;
using trace::Piece;
using trace::piece;
using trace::pointer_word;

constexpr std::uint64_t kStream = 0x1000, kA = 0x700000000000, kB = 0x700000100000;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

trace::TraceBuilder sample() {
  trace::TraceBuilder t;
  t.function(1, "_Z4fillPfi");
  t.function(2, "_Z5scalePf");
  t.stream_create(kStream, trace::NonBlocking::Yes);
  t.alloc(kA, 8192);
  t.alloc(kB, 8192);
  Piece rows = piece(0, Piece::Mode::Atomic, 4096, 16);
  rows.rows = 128, rows.pitch = 32, rows.slices = 2, rows.slice_pitch = 4096, rows.flags = Piece::kWidened;
  t.footprint(1, {piece(0, Piece::Mode::Read, 0, 64), piece(0, Piece::Mode::Write, 256, 1)});
  t.footprint(2, {rows}, trace::kIncomplete);
  t.footprint(3, {});
  t.launch_known(kStream, 1, 1, Known::Measured, {pointer_word(0, kA)});
  t.launch_known(kStream, 1, 1, Known::Learned, {pointer_word(0, kB)});
  t.launch_known(kStream, 1, 3, Known::Measured, {pointer_word(0, kB)});
  t.launch_known(kStream, 2, 2, Known::Measured, {pointer_word(0, kA)});
  t.launch(kStream, 2, {pointer_word(0, kA + 16)});
  return t;
}

class Footprints : public ::testing::Test {
 protected:
  std::string saved(const trace::TraceBuilder& trace, const std::string& name = "x.trace") {
    EXPECT_TRUE(trace.save(directory_ / name));
    return directory_ / name;
  }
  TemporaryDirectory directory_;
};

TEST_F(Footprints, OneBlockForEachKernelAndSetOfBytes) {
  std::string path = saved(sample());
  Result result = streamsan({"footprints", path});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.out, path +
                            ": process 4711, 5 launches\n"
                            "\n"
                            "fill: 2 launches (1 measured, 1 learned)\n"
                            "  read [0,64) of 8192 bytes\n"
                            "  write [256,257) of 8192 bytes\n"
                            "\n"
                            "fill: 1 launch (1 measured)\n"
                            "  touches no memory\n"
                            "\n"
                            "scale: 1 launch (1 measured)\n"
                            "  atomic [4096,4112) x 128 rows, 32 apart x 2 slices, 4096 apart of 8192 bytes, not all "
                            "of them\n"
                            "  may read or write [0,8192) of 8192 bytes\n"
                            "\n"
                            "scale: 1 launch (1 inferred)\n"
                            "  may read or write [16,8192) of 8192 bytes\n");
}

TEST_F(Footprints, JsonHasALineForEachLaunch) {
  std::string file = directory_ / "out.json";
  EXPECT_EQ(streamsan({"footprints", "--json=" + file, saved(sample())}).code, 0);
  std::istringstream lines(contents(file));
  std::vector<Json> launches;
  for (std::string line; std::getline(lines, line);) launches.push_back(Json::parse(line));
  ASSERT_EQ(launches.size(), 5u);
  EXPECT_EQ(launches[0],
            Json::parse(R"json({"launch":0,"pid":4711,"kernel":"_Z4fillPfi","demangled":"fill(float*, int)",
      "known":"measured","complete":true,"pieces":[
        {"mode":"read","address":123145302310912,"width":64,"rows":1,"pitch":0,"slices":1,"slice_pitch":0,
         "widened":false},
        {"mode":"write","address":123145302311168,"width":1,"rows":1,"pitch":0,"slices":1,"slice_pitch":0,
         "widened":false}]
})json"));
  EXPECT_EQ(launches[1]["known"], "learned");
  EXPECT_EQ(launches[1]["pieces"][0]["address"], kB);
  EXPECT_EQ(launches[2]["pieces"].size(), 0u);
  EXPECT_EQ(launches[2]["complete"], true);
  EXPECT_EQ(launches[3]["complete"], false);
  EXPECT_EQ(launches[3]["pieces"][0]["widened"], true);
  EXPECT_EQ(launches[3]["pieces"][0]["slice_pitch"], 4096);
  EXPECT_EQ(launches[4]["launch"], 4);
  EXPECT_EQ(launches[4]["known"], "inferred");
  EXPECT_EQ(launches[4]["complete"], false);
  EXPECT_EQ(launches[4]["pieces"].size(), 0u);
  EXPECT_EQ(streamsan({"footprints", "--json=/proc/no/x", saved(sample())}).code, 2);
}

TEST_F(Footprints, InstancesOfATemplateAreDifferentKernels) {
  trace::TraceBuilder trace;
  trace.function(1, "_Z4fillIfEvPT_");
  trace.function(2, "_Z4fillIdEvPT_");
  trace.stream_create(kStream, trace::NonBlocking::Yes);
  trace.alloc(kA, 8192);
  trace.footprint(1, {piece(0, Piece::Mode::Write, 0, 64)});
  for (std::uint64_t function : {1, 2, 1})
    trace.launch_known(kStream, function, 1, Known::Measured, {pointer_word(0, kA)});
  std::string out = streamsan({"footprints", saved(trace)}).out;
  EXPECT_TRUE(has(out, "\nfill: 1 launch (1 measured)\n")) << out;
  EXPECT_TRUE(has(out, "\nfill: 2 launches (2 measured)\n")) << out;
}

TEST_F(Footprints, MemoryThatIsNotKnownIsNamedByItsAddress) {
  trace::TraceBuilder trace;
  trace.function(1, "_Z4fillPfi");
  trace.stream_create(kStream, trace::NonBlocking::Yes);
  trace.footprint(1, {piece(Piece::kAbsolute, Piece::Mode::Write, 0x5000, 16)});
  trace.launch_known(kStream, 1, 1, Known::Measured, {pointer_word(0, kA)});
  trace.launch(kStream, 1, {pointer_word(0, kA)});
  std::string out = streamsan({"footprints", saved(trace)}).out;
  EXPECT_TRUE(has(out, "  write [0x5000,0x5010) in no known allocation\n")) << out;
  EXPECT_TRUE(has(out, "fill: 1 launch (1 inferred)\n  its memory is not known\n")) << out;
}

TEST_F(Footprints, DamagedTracesAreShownAsFarAsTheyAreWhole) {
  trace::TraceBuilder trace = sample();
  std::string bytes = trace.bytes();
  std::string path = directory_ / "cut.trace";
  std::ofstream(path, std::ios::binary) << bytes.substr(0,
                                                        trace::kHeaderBytes + (trace.slots() - 2) * trace::kSlotBytes);
  Result cut = streamsan({"footprints", path, saved(trace)});
  EXPECT_EQ(cut.code, 2);
  EXPECT_TRUE(has(cut.out, "4711, 4 launches\n")) << cut.out;
  EXPECT_TRUE(has(cut.out, "4711, 5 launches\n")) << "the other one is whole";
  EXPECT_TRUE(has(cut.error, "streamsan: WARNING: " + path + ": the trace is truncated: ")) << cut.error;
  Result missing = streamsan({"footprints", "/no/such.trace"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_TRUE(has(missing.error, "/no/such.trace: cannot read it: No such file or directory")) << missing.error;
  EXPECT_EQ(missing.out, "") << "nothing is known of its process";
  EXPECT_EQ(streamsan({"footprints"}).code, 2);
}

TEST_F(Footprints, JsonGoesWhereOtherOutputsWould) {
  trace::TraceBuilder other = sample();
  other.set_pid(4712);
  const std::string one = saved(sample()), two = saved(other, "y.trace");
  const std::string each = directory_ / "new/folder/%p.json";
  EXPECT_EQ(streamsan({"footprints", "--json=" + each, one, two}).code, 0);
  for (const std::string pid : {"4711", "4712"}) {
    const std::string lines = contents(directory_ / ("new/folder/" + pid + ".json"));
    EXPECT_TRUE(has(lines, "\"pid\":" + pid)) << lines;
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 5) << lines;
  }
  const std::string all = directory_ / "all.json";
  EXPECT_EQ(streamsan({"footprints", "--json=" + all, one, two}).code, 0);
  const std::string lines = contents(all);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 10) << lines;
}

TEST_F(Footprints, ATraceIsNotWrittenOver) {
  const std::string path = saved(sample()), before = contents(path);
  const std::string pattern = directory_ / "%p.trace", named = saved(sample(), "4711.trace");
  for (const std::string& output : {path, directory_ / "./x.trace", pattern}) {
    const Result result = streamsan({"footprints", "--json", output, path, named});
    EXPECT_EQ(result.code, 2);
    EXPECT_TRUE(has(result.error, ".trace: it is one of the traces\n")) << result.error;
    EXPECT_TRUE(has(result.out, "4711, 5 launches\n")) << result.out;
  }
  EXPECT_EQ(contents(path), before);
  EXPECT_EQ(contents(named), before);
  EXPECT_EQ(streamsan({"footprints", "--json=/dev/full", path}).error,
            "streamsan: cannot write /dev/full: No space left on device\n");
}

}  // namespace
}  // namespace streamsan::cli
