// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What users read of races, literally: each check with each cause, its notes and its repair; and of hazards that go
// through calls.
#include <utility>

#include "analyzer/analysis/tests/hazard_samples.h"

namespace streamsan::analyzer {
namespace {

using namespace samples;

TEST(Race, NothingOrders) {
  EXPECT_EQ(
      text(race()),
      "20: kernel 'consume' on stream 's2' may read 'd_buf' while cudaMemcpyAsync (host to device) on stream 's1' "
      "still "
      "writes it\n"
      "10: note: 'd_buf' is written here, on stream 's1'\n"
      "1: note: stream 's1' is created here\n"
      "2: note: stream 's2' is created here\n"
      "3: note: 'd_buf' is allocated here\n"
      "20: note: nothing orders stream 's2' after stream 's1': record event 'e0' in stream 's1' after the write and "
      "let stream 's2' wait for it with cudaStreamWaitEvent before kernel 'consume'\n");
}

TEST(Race, WithoutNames) {
  Hazard hazard = race();
  hazard.event = {};
  hazard.buffer = {};
  hazard.earlier->stream = stream("the default stream");
  hazard.later.stream = stream("$current_stream");
  EXPECT_EQ(
      text(hazard),
      "20: kernel 'consume' on the current stream may read the same memory while cudaMemcpyAsync (host to device) on "
      "the "
      "default stream still writes it\n"
      "10: note: the same memory is written here, on the default stream\n"
      "20: note: nothing orders the current stream after the default stream: record an event in the default stream "
      "after the write and let the current stream wait for it with cudaStreamWaitEvent before kernel 'consume'\n");
}

TEST(Race, HiddenNames) {
  Hazard hazard = race();
  hazard.later.stream = stream("handle.$stream");
  hazard.buffer = stream("v.$data");
  EXPECT_TRUE(message(hazard).starts_with("kernel 'consume' on the stream of 'handle' may read 'v' while"));
}

TEST(Race, Modes) {
  const auto both = [](ir::Mode mode) {
    Hazard hazard = race();
    hazard.earlier->what = hazard.later.what = "x";
    hazard.earlier->stream = hazard.later.stream = {};
    hazard.earlier->mode = hazard.later.mode = mode;
    return message(hazard);
  };
  EXPECT_EQ(both(ir::Mode::Read), "x may read 'd_buf' while x still reads it");
  EXPECT_EQ(both(ir::Mode::Write), "x may write 'd_buf' while x still writes it");
  EXPECT_EQ(both(ir::Mode::ReadWrite), "x may update 'd_buf' while x still updates it");
  EXPECT_EQ(both(ir::Mode::Atomic), "x may atomically update 'd_buf' while x still atomically updates it");
  EXPECT_EQ(both(ir::Mode::Unknown), "x may use 'd_buf' while x still uses it");
}

TEST(Race, WithAnAllocation) {
  Hazard hazard = race();
  hazard.earlier = action(10, "cudaMallocAsync", ir::Mode::Write, stream("s1"));
  hazard.earlier->allocates = true;
  EXPECT_EQ(message(hazard),
            "kernel 'consume' on stream 's2' may read 'd_buf' while cudaMallocAsync on stream 's1' still allocates it");
  EXPECT_EQ(word(hazard).notes.at(0).message, "'d_buf' is allocated here, on stream 's1'");
}

TEST(Race, Causes) {
  const auto notes = [](Cause cause) { return cause_notes(race(Check::CrossStreamRace, cause)); };
  EXPECT_EQ(notes(Cause::RecordedTooEarly),
            "event 'e0' is recorded here, before the write: a wait for it does not cover the write\n"
            "record event 'e0' in stream 's1' after the write, before stream 's2' waits for it\n");
  EXPECT_EQ(notes(Cause::NeverRecorded),
            "the wait for event 'e0' here does nothing: the event was never recorded\n"
            "record event 'e0' in stream 's1', after the write and before the wait\n");
  EXPECT_EQ(notes(Cause::RecordedElsewhere),
            "event 'e0' is recorded here, in another stream than stream 's1': it does not cover the write\n"
            "record event 'e0' in stream 's1', after the write and before the wait\n");
  EXPECT_EQ(notes(Cause::WaitElsewhere),
            "it is another stream than stream 's2' that waits for event 'e0' here\n"
            "let stream 's2' wait for event 'e0' with cudaStreamWaitEvent before kernel 'consume'\n");
  EXPECT_EQ(notes(Cause::NeverWaited),
            "event 'e0' is recorded here, after the write, but stream 's2' does not wait for it\n"
            "let stream 's2' wait for event 'e0' with cudaStreamWaitEvent before kernel 'consume'\n");
  EXPECT_EQ(notes(Cause::WaitAfter),
            "this comes too late: kernel 'consume' is enqueued already\n"
            "nothing orders stream 's2' after stream 's1' in time: wait before kernel 'consume'\n");
  EXPECT_EQ(notes(Cause::OtherStreamSynced),
            "this waits for another stream than stream 's1'\n"
            "nothing orders stream 's2' after stream 's1': record event 'e0' in stream 's1' after the write and let "
            "stream 's2' wait for it with cudaStreamWaitEvent before kernel 'consume'\n");
  EXPECT_EQ(notes(Cause::OnlyOnSomePaths),
            "this orders them, but only on some of the paths that lead there\n"
            "let stream 's2' wait for stream 's1' on every path before kernel 'consume'\n");
}

TEST(Race, EarlierIteration) {
  const Hazard hazard = race(Check::CrossStreamRace, Cause::OtherIteration);
  EXPECT_EQ(
      message(hazard),
      "kernel 'consume' on stream 's2' may read 'd_buf' while cudaMemcpyAsync (host to device) on stream 's1', in an "
      "earlier iteration, still writes it");
  EXPECT_EQ(
      word(hazard).notes.back().message,
      "cudaMemcpyAsync (host to device) may be that of an earlier iteration: record event 'e0' in stream 's1' after "
      "the write and let stream 's2' wait for it with cudaStreamWaitEvent before kernel 'consume' of the next "
      "iteration");
}

TEST(Race, Levels) {
  Hazard hazard = race();
  const std::string base = message(hazard);
  hazard.level = Level::Latent;
  hazard.rule = "R-CPY-14";
  EXPECT_EQ(message(hazard), base + "; only undocumented behaviour of today's driver prevents it (R-CPY-14)");
  hazard.level = Level::Maybe;
  EXPECT_EQ(message(hazard), base + ", on some path");
  hazard.condition = "'s1' and 's2' are different streams";
  EXPECT_EQ(message(hazard), base + ", if 's1' and 's2' are different streams");
}

TEST(Race, NonblockingAndDefault) {
  Hazard hazard = race(Check::NonblockingVsDefault, Cause::NonBlocking);
  hazard.earlier->stream = stream("s1", 1, StreamKind::NonBlocking);
  hazard.later.stream = stream("the default stream", 0, StreamKind::Legacy);
  EXPECT_EQ(text(hazard),
            "20: kernel 'consume' on the default stream may read 'd_buf' while cudaMemcpyAsync (host to device) on "
            "non-blocking stream 's1' still writes it\n"
            "10: note: 'd_buf' is written here, on stream 's1'\n"
            "1: note: stream 's1' is created here (non-blocking)\n"
            "3: note: 'd_buf' is allocated here\n"
            "20: note: the default stream does not wait for stream 's1', which is non-blocking; record event 'e0' in "
            "stream 's1' after the write and let the default stream wait for it with cudaStreamWaitEvent before kernel "
            "'consume'\n");
  std::swap(hazard.earlier->stream, hazard.later.stream);
  EXPECT_TRUE(word(hazard).notes.back().message.starts_with(
      "stream 's1' is non-blocking: it does not wait for the default stream; record"));
}

TEST(Race, EventDoesNotCover) {
  const auto end = [](Cause cause) {
    const std::string all = message(race(Check::EventWaitWithoutRecord, cause));
    return all.substr(all.find("writes it") + 9);
  };
  EXPECT_EQ(end(Cause::RecordedTooEarly), ": event 'e0', which it waits for, was recorded before that");
  EXPECT_EQ(end(Cause::NeverRecorded), ": event 'e0', which it waits for, was never recorded");
  EXPECT_EQ(end(Cause::RecordedElsewhere), ": event 'e0', which it waits for, was recorded in another stream");
}

TEST(Race, WaitIsInserted) {
  const auto fixes = [](Hazard hazard) {
    const std::string all = text(hazard);
    const std::size_t fix = all.find("fix: ");
    return fix == std::string::npos ? "" : all.substr(fix);
  };
  const Hazard good = race(Check::CrossStreamRace, Cause::NeverWaited);
  EXPECT_EQ(fixes(good), "fix: before 20 cudaStreamWaitEvent(s2, e0, 0); {s2 e0}\n");
  EXPECT_EQ(fixes(race(Check::CrossStreamRace, Cause::WaitElsewhere)),
            "fix: before 20 cudaStreamWaitEvent(s2, e0, 0); {s2 e0}\n");
  // No event that covers the write.
  EXPECT_EQ(fixes(race()), "");
  EXPECT_EQ(fixes(race(Check::CrossStreamRace, Cause::RecordedTooEarly)), "");

  const auto spoiled = [&](auto spoil) {
    Hazard hazard = good;
    spoil(hazard);
    return fixes(hazard);
  };
  EXPECT_EQ(spoiled([](Hazard& h) { h.level = Level::Maybe; }), "");
  EXPECT_EQ(spoiled([](Hazard& h) { h.event.name = ""; }), "");
  EXPECT_EQ(spoiled([](Hazard& h) { h.event.name = "events[i]"; }), "");
  EXPECT_EQ(spoiled([](Hazard& h) { h.event.name = "events[]"; }), "");
  EXPECT_EQ(spoiled([](Hazard& h) { h.event.name = "make()"; }), "");
  EXPECT_EQ(spoiled([](Hazard& h) { h.later.stream.name = "handle.$stream"; }), "");
  EXPECT_EQ(spoiled([](Hazard& h) { h.later.where.site.statement = 0; }), "");
  EXPECT_EQ(spoiled([](Hazard& h) { h.later.where.calls.push_back(at(30, "", "main").site); }), "");
  EXPECT_EQ(spoiled([](Hazard& h) { h.earlier->where.site.begin = h.later.where.site.statement + 1; }), "");
  EXPECT_EQ(spoiled([](Hazard& h) { h.event.name = "this->events_[1]"; }),
            "fix: before 20 cudaStreamWaitEvent(s2, this->events_[1], 0); {s2 this->events_[1]}\n");
  EXPECT_EQ(spoiled([](Hazard& h) { h.later.stream = unnamed(UnnamedStream::Legacy); }),
            "fix: before 20 cudaStreamWaitEvent(cudaStreamLegacy, e0, 0); {e0}\n");
}

TEST(Race, SpeaksTheProgramsApi) {
  Hazard hazard = race(Check::CrossStreamRace, Cause::NeverWaited);
  hazard.earlier->where.site.api = ir::Api::Hip;
  EXPECT_EQ(word(hazard).fixes.at(0).text, "hipStreamWaitEvent(s2, e0, 0);");
  EXPECT_NE(word(hazard).notes.back().message.find("with hipStreamWaitEvent"), std::string::npos);
  hazard.earlier->where.site.api = ir::Api::Driver;
  EXPECT_EQ(word(hazard).fixes.at(0).text, "cuStreamWaitEvent(s2, e0, 0);");
  hazard.earlier->where.site.api = ir::Api::None;
  hazard.later.stream.origin = at(1, "hipStreamCreate");
  hazard.later.stream.origin->site.api = ir::Api::Hip;
  EXPECT_EQ(word(hazard).fixes.at(0).text, "hipStreamWaitEvent(s2, e0, 0);");
}

// ---- through calls

Hazard through_calls() {
  Hazard hazard = race();
  hazard.earlier->where = {at(110, kUpload, "upload").site, {at(10).site, at(90, "", "main").site}};
  hazard.later.where = {at(120, "kernel 'consume'", "launch").site,
                        {at(130, "", "process").site, at(20).site, at(90, "", "main").site}};
  hazard.buffer.origin.reset();
  hazard.earlier->stream.origin.reset();
  hazard.later.stream.origin.reset();
  return hazard;
}

TEST(Calls, AreNotes) {
  const std::string all = text(through_calls());
  EXPECT_EQ(
      all.substr(0, all.find("120: note: nothing")),
      "120: kernel 'consume' on stream 's2' may read 'd_buf' while cudaMemcpyAsync (host to device) on stream 's1' "
      "still writes it\n"
      "130: note: in the call to 'launch' here\n"
      "20: note: in the call to 'process' here\n"
      "110: note: 'd_buf' is written here, on stream 's1'\n"
      "10: note: in the call to 'upload' here\n");
  EXPECT_TRUE(all.ends_with("90: note: in the call to 'run' here\n"));
  EXPECT_TRUE(word(through_calls()).fixes.empty());
}

TEST(Calls, OfAHeader) {
  Hazard hazard = through_calls();
  hazard.later.where.site.file = "launch.h";
  const std::string all = text(hazard);
  EXPECT_EQ(
      all.substr(0, all.find("110: note")),
      "130: kernel 'consume' on stream 's2' may read 'd_buf' while cudaMemcpyAsync (host to device) on stream 's1' "
      "still writes it\n"
      "120: note: kernel 'consume' is launched here\n"
      "20: note: in the call to 'process' here\n");
  EXPECT_EQ(word(hazard).function, "process");
}

TEST(Calls, OfAnotherTranslationUnit) {
  Hazard hazard = race();
  for (Where* where : {&hazard.earlier->where, &hazard.later.where}) {
    where->site.begin = 0;
    where->calls = {at(90, "", "main").site};
  }
  EXPECT_EQ(word(hazard).site.line, 90U);
}

}  // namespace
}  // namespace streamsan::analyzer
