// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What users read of all but races, literally: each check with each cause, its notes and its repair.
#include <set>

#include "analyzer/analysis/tests/hazard_samples.h"

namespace streamsan::analyzer {
namespace {

using namespace samples;

// ---- the host

TEST(Host, Reads) {
  EXPECT_EQ(text(host()),
            "20: the host may read 'h' while cudaMemcpyAsync (device to host) on stream 's1' still writes it\n"
            "10: note: 'h' is written here, on stream 's1'\n"
            "20: note: wait for stream 's1' with cudaStreamSynchronize before the read\n"
            "fix: before 20 cudaStreamSynchronize(s1); {s1}\n");
  Hazard hazard = host();
  hazard.later.what = "MPI_Send";
  hazard.later.mode = ir::Mode::Unknown;
  hazard.earlier->stream = {};
  EXPECT_EQ(text(hazard),
            "20: MPI_Send may read 'h' while cudaMemcpyAsync (device to host) still writes it\n"
            "10: note: 'h' is written here\n"
            "20: note: wait for its stream with cudaStreamSynchronize before the read\n");
}

TEST(Host, Writes) {
  Hazard hazard = host(Check::HostWriteBeforeDone);
  hazard.cause = Cause::OtherIteration;
  hazard.earlier->stream = stream("the default stream");
  EXPECT_EQ(text(hazard),
            "20: the host may write 'h' while cudaMemcpyAsync (host to device) on the default stream, in an earlier "
            "iteration, "
            "still reads it\n"
            "10: note: 'h' is read here, on the default stream\n"
            "20: note: wait for the default stream with cudaStreamSynchronize before the write\n"
            "fix: before 20 cudaStreamSynchronize(0); {}\n");
}

TEST(Host, Causes) {
  const auto edge = [](Cause cause) {
    Hazard hazard = host();
    hazard.cause = cause;
    hazard.event = stream("e");
    const std::string all = cause_notes(hazard);
    return all.substr(0, all.find('\n'));
  };
  EXPECT_EQ(edge(Cause::OtherStreamSynced), "this waits for another stream than stream 's1'");
  EXPECT_EQ(edge(Cause::OnlyOnSomePaths), "this waits for it, but only on some of the paths that lead there");
  EXPECT_EQ(edge(Cause::RecordedTooEarly),
            "event 'e' is recorded here, before the write: waiting for it does not cover the write");
  EXPECT_EQ(edge(Cause::NeverRecorded), "the wait for event 'e' here does nothing: the event was never recorded");
  EXPECT_EQ(edge(Cause::RecordedElsewhere), "event 'e' is recorded here, in another stream than stream 's1'");
  EXPECT_EQ(edge(Cause::WaitElsewhere), "another stream waits for event 'e' here, not the host");
  EXPECT_EQ(edge(Cause::WaitAfter), "this waits for it, but comes too late");
  EXPECT_EQ(edge(Cause::NeverWaited), "event 'e' is recorded here, after the write, but the host does not wait for it");
}

TEST(Host, Lifetimes) {
  Hazard hazard = host(Check::AsyncCopyLifetime);
  EXPECT_EQ(
      text(hazard),
      "20: 'h' goes out of scope while cudaMemcpyAsync (host to device) on stream 's1' still reads it\n"
      "10: note: 'h' is read here, on stream 's1'\n"
      "20: note: wait for stream 's1' with cudaStreamSynchronize before that, or keep the memory alive for longer\n"
      "fix: before 20 cudaStreamSynchronize(s1); {s1}\n");
  hazard.detail = "is resized";
  EXPECT_TRUE(message(hazard).starts_with("'h' is resized while"));
  hazard.detail.clear();
  hazard.buffer = {};
  EXPECT_TRUE(message(hazard).starts_with("a temporary dies at the end of the statement while"));
}

TEST(Host, Frees) {
  Hazard hazard = race(Check::PrematureFree);
  hazard.earlier->what = "kernel 'k'";
  hazard.later = action(20, "cudaFree");
  EXPECT_EQ(text(hazard),
            "20: 'd_buf' is freed by cudaFree while kernel 'k' on stream 's1' still writes it\n"
            "10: note: 'd_buf' is written here, on stream 's1'\n"
            "1: note: stream 's1' is created here\n"
            "3: note: 'd_buf' is allocated here\n"
            "20: note: wait for stream 's1' with cudaStreamSynchronize before it is freed\n"
            "fix: before 20 cudaStreamSynchronize(s1); {s1}\n");
  hazard.later = action(20, "cudaFreeAsync", ir::Mode::Write, stream("s2"));
  EXPECT_EQ(message(hazard),
            "'d_buf' is freed by cudaFreeAsync on stream 's2' while kernel 'k' on stream 's1' still writes it");
  EXPECT_EQ(word(hazard).notes.back().message,
            "free it on stream 's1', or let stream 's2' wait for it first: record an event in stream 's1' after the "
            "write and "
            "use cudaStreamWaitEvent");
  EXPECT_TRUE(word(hazard).fixes.empty());
}

TEST(Host, UseAfterFree) {
  Hazard hazard = race(Check::PrematureFree);
  hazard.which = CheckCase::UseAfterFree;
  hazard.earlier = action(10, "cudaFreeAsync", ir::Mode::Write, stream("s1"));
  EXPECT_EQ(text(hazard),
            "20: kernel 'consume' on stream 's2' may read 'd_buf' after cudaFreeAsync on stream 's1' has freed it\n"
            "10: note: 'd_buf' is freed here on stream 's1'\n"
            "3: note: 'd_buf' is allocated here\n"
            "20: note: free it after the last use, on stream 's2' or on a stream that waits for it\n");
}

TEST(Host, Tensors) {
  Hazard hazard = race(Check::MissingRecordStream);
  hazard.buffer.name = "t";
  hazard.earlier->stream = stream("side");
  hazard.later.stream = stream("$current_stream");
  EXPECT_EQ(
      text(hazard),
      "20: memory of tensor 't' is returned to the allocator, which may reuse it on the current stream, while "
      "cudaMemcpyAsync (host to device) on stream 'side' still writes it\n"
      "10: note: tensor 't' is written here, on stream 'side'\n"
      "3: note: 't' is allocated here\n"
      "20: note: call record_stream(side) on the tensor after its last use there, or let the current stream wait for "
      "stream 'side' before the tensor is released\n");
}

// ---- handles

Hazard handle(Check check, const char* what, Thing on = {}) {
  Hazard hazard;
  hazard.check = check;
  hazard.later = action(20, what, ir::Mode::Unknown, std::move(on));
  hazard.event = stream("e", 1);
  return hazard;
}

TEST(Handle, NeverRecorded) {
  Hazard hazard = handle(Check::EventWaitWithoutRecord, "cudaStreamWaitEvent", stream("s"));
  EXPECT_EQ(text(hazard),
            "20: stream 's' waits for event 'e', which was never recorded: the wait does nothing\n"
            "1: note: event 'e' is created here\n"
            "20: note: record event 'e' with cudaEventRecord before the wait\n");
  hazard.later = action(20, "cudaEventSynchronize");
  hazard.edge = at(25);
  EXPECT_EQ(message(hazard), "cudaEventSynchronize waits for nothing: event 'e' was never recorded");
  EXPECT_EQ(word(hazard).notes.at(0).message, "event 'e' is recorded only here, after the wait");
}

TEST(Handle, RecordedAgain) {
  Hazard hazard = handle(Check::EventRerecord, "cudaEventRecord", stream("s2"));
  hazard.earlier = action(10, "cudaEventRecord", ir::Mode::Unknown, stream("s1"));
  hazard.edge = at(30);
  EXPECT_EQ(
      text(hazard),
      "20: event 'e' is recorded again on stream 's2' before anything waited for its record on stream 's1': a wait "
      "covers only the last record\n"
      "10: note: event 'e' is recorded here first on stream 's1'\n"
      "30: note: this wait does not cover what stream 's1' did\n"
      "1: note: event 'e' is created here\n"
      "20: note: use one event for each record, or wait for the first before this one\n");
}

TEST(Handle, Destroyed) {
  Hazard hazard = handle(Check::HandleUseAfterDestroy, "cudaEventSynchronize");
  hazard.earlier = action(10, "cudaEventDestroy");
  EXPECT_EQ(text(hazard),
            "20: event 'e' is used by cudaEventSynchronize after it was destroyed\n"
            "10: note: event 'e' is destroyed here\n"
            "1: note: event 'e' is created here\n");
  hazard.event = {};
  hazard.later = action(20, "kernel 'k'", ir::Mode::Unknown, stream("s"));
  EXPECT_EQ(message(hazard), "stream 's' is used by kernel 'k' after it was destroyed");
}

TEST(Handle, Capture) {
  Hazard hazard = handle(Check::CaptureUnsafeCall, "cudaStreamSynchronize");
  hazard.earlier = action(10, "cudaStreamBeginCapture", ir::Mode::Unknown, stream("s"));
  hazard.detail = "it synchronises the host";
  EXPECT_EQ(text(hazard),
            "20: cudaStreamSynchronize is not allowed while stream 's' is captured: it synchronises the host\n"
            "10: note: the capture begins here\n"
            "20: note: move it out of the capture; it would not be part of the graph\n");
  hazard.which = CheckCase::NotInGraph;
  hazard.detail = "it is synchronous";
  EXPECT_EQ(
      text(hazard),
      "20: cudaStreamSynchronize does not become part of the graph while stream 's' is captured: it is synchronous\n"
      "10: note: the capture begins here\n"
      "20: note: move it out of the capture, or into stream 's'; it runs at once, or is refused if that is a "
      "blocking stream\n");
}

TEST(Handle, Timing) {
  Hazard hazard = handle(Check::EventTimingMisuse, "cudaEventElapsedTime");
  hazard.which = CheckCase::NoTiming;
  EXPECT_EQ(message(hazard), "cudaEventElapsedTime of event 'e', which was created without timing, fails");
  EXPECT_TRUE(word(hazard).fixes.empty());
  hazard.which = CheckCase::NotRecorded;
  EXPECT_EQ(message(hazard), "cudaEventElapsedTime of event 'e', which was never recorded, fails");
  EXPECT_TRUE(word(hazard).fixes.empty());
  hazard.which = CheckCase::NotComplete;
  hazard.earlier = action(10, "cudaEventRecord", ir::Mode::Unknown, stream("s"));
  EXPECT_EQ(text(hazard),
            "20: cudaEventElapsedTime of event 'e', which may not be complete: nothing has waited for it\n"
            "10: note: event 'e' is recorded here on stream 's'\n"
            "1: note: event 'e' is created here\n"
            "20: note: wait for event 'e' with cudaEventSynchronize before\n"
            "fix: before 20 cudaEventSynchronize(e); {e}\n");
}

// ---- advice

TEST(Advice, ImplicitDefaultStream) {
  Hazard hazard = handle(Check::ImplicitDefaultStream, "kernel 'k'", stream("the default stream"));
  hazard.detail = "s";
  hazard.edge = at(5);
  EXPECT_EQ(text(hazard),
            "20: kernel 'k' goes to the default stream although stream 's' is in scope\n"
            "5: note: stream 's' is created here\n"
            "fix: pass 20 s {s}\n");
  hazard.later.where.site.stream_begin = 0;
  EXPECT_TRUE(word(hazard).fixes.empty());
  hazard.later.where.site.stream_begin = 1;
  hazard.later.where.site.in_macro = true;
  EXPECT_TRUE(word(hazard).fixes.empty());
}

TEST(Advice, DeviceWideSync) {
  Hazard hazard = handle(Check::DeviceWideSync, "cudaDeviceSynchronize", stream("s", 1));
  hazard.detail = "cudaStreamSynchronize(s)";
  hazard.earlier = action(10, "kernel 'k'", ir::Mode::Unknown, stream("s"));
  EXPECT_EQ(text(hazard),
            "20: cudaDeviceSynchronize waits for the whole device where only stream 's' can have work\n"
            "10: note: kernel 'k' is the last work on stream 's'\n"
            "1: note: stream 's' is created here\n"
            "20: note: 'cudaStreamSynchronize(s)' waits for the same work\n"
            "fix: replace 20 cudaStreamSynchronize(s) {s}\n");
  hazard.later.where.site.in_macro = true;
  EXPECT_TRUE(word(hazard).fixes.empty());
  hazard.later.stream = {};
  hazard.detail = "'s1' and 's2'";
  EXPECT_EQ(message(hazard),
            "cudaDeviceSynchronize waits for the whole device where only streams 's1' and 's2' can have work");
}

TEST(Advice, RedundantSync) {
  Hazard hazard = handle(Check::RedundantSync, "cudaStreamSynchronize", stream("s"));
  hazard.earlier = action(10, "cudaDeviceSynchronize");
  EXPECT_EQ(
      text(hazard),
      "20: cudaStreamSynchronize on stream 's' is not needed: nothing was enqueued since the last synchronisation\n"
      "10: note: cudaDeviceSynchronize has waited for the same work here\n"
      "fix: remove 20  {}\n");
  hazard.earlier.reset();
  hazard.edge = at(21, "cudaMemcpy (device to host)");
  EXPECT_EQ(
      text(hazard),
      "20: cudaStreamSynchronize on stream 's' is not needed: cudaMemcpy (device to host) waits for the same work\n"
      "21: note: cudaMemcpy (device to host) is called here\n"
      "fix: remove 20  {}\n");
}

TEST(Advice, Loops) {
  Hazard hazard = handle(Check::SyncInLoop, "cudaDeviceSynchronize");
  hazard.edge = at(15);
  EXPECT_EQ(text(hazard),
            "20: cudaDeviceSynchronize in every iteration of a loop: the device is idle while the host prepares the "
            "next one\n"
            "15: note: the loop is here\n"
            "20: note: synchronise after the loop, or let streams wait for events with cudaStreamWaitEvent\n");
  hazard.check = Check::AllocInLoop;
  hazard.later = action(20, "cudaMalloc");
  hazard.buffer = memory("tmp");
  EXPECT_EQ(text(hazard),
            "20: cudaMalloc of 'tmp' in every iteration of a loop may synchronise the device\n"
            "15: note: the loop is here\n"
            "20: note: allocate before the loop and free after it, or use stream-ordered memory\n");
}

TEST(Advice, PageableCopy) {
  Hazard hazard = handle(Check::PageableAsyncCopy, kUpload, stream("s"));
  hazard.buffer = stream("h");
  EXPECT_EQ(text(hazard),
            "20: cudaMemcpyAsync (host to device) on stream 's' of pageable memory 'h' may block the host and does not "
            "overlap "
            "with other work\n"
            "20: note: use pinned memory, from cudaMallocHost\n");
  hazard.later.what = "hipMemcpyAsync (host to device)";
  hazard.later.where.site.api = ir::Api::Hip;
  EXPECT_EQ(word(hazard).notes.back().message, "use pinned memory, from hipHostMalloc");
}

TEST(Advice, SelfWait) {
  Hazard hazard = handle(Check::SelfWait, "cudaStreamWaitEvent", stream("s"));
  hazard.earlier = action(10, "cudaEventRecord", ir::Mode::Unknown, stream("s"));
  EXPECT_EQ(text(hazard),
            "20: stream 's' waits for event 'e', which it recorded itself: the wait does nothing\n"
            "10: note: event 'e' is recorded here on stream 's'\n"
            "fix: remove 20  {}\n");
}

// ---- names

TEST(Names, EachCheckHasItsOwn) {
  std::set<std::string> seen;
  for (const Check check : kChecks) {
    EXPECT_TRUE(seen.insert(id(check)).second);
    EXPECT_FALSE(std::string(summary(check)).ends_with("."));
  }
  EXPECT_STREQ(id(Check::SelfWait), "self-wait");
  EXPECT_EQ(group(Check::SelfWait), Group::Performance);
  EXPECT_EQ(group(Check::CrossStreamRace), Group::Correctness);
  EXPECT_EQ(group(Check::ImplicitDefaultStream), Group::Policy);
  EXPECT_STREQ(name(Level::Latent), "latent");
}

/// Nothing is filled in but the check: no crash, one line.
TEST(Names, EmptyHazards) {
  for (const Check check : kChecks) {
    for (const bool two_sided : {false, true}) {
      Hazard hazard;
      hazard.check = check;
      const bool needs_both = group(check) == Group::Correctness && check != Check::EventWaitWithoutRecord &&
                              check != Check::HandleUseAfterDestroy && check != Check::CaptureUnsafeCall &&
                              check != Check::EventTimingMisuse;
      if (two_sided || needs_both) {
        hazard.earlier = Action{};
      }
      const std::string words = message(hazard);
      EXPECT_FALSE(words.empty()) << id(check);
      EXPECT_EQ(words.find('\n'), std::string::npos) << id(check);
      EXPECT_EQ(words.find("  "), std::string::npos) << id(check) << ": " << words;
      EXPECT_EQ(words.find("''"), std::string::npos) << id(check) << ": " << words;
    }
  }
}

}  // namespace
}  // namespace streamsan::analyzer
