// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The repairs in the words of frameworks, literally.
#include "judge/framework_words.h"

#include <gtest/gtest.h>

#include "judge/site_reader.h"
#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using ordering::AccessMode;
using ordering::AccessSource;
using ordering::Hazard;
using ordering::HazardKind;
using ordering::NearestEdge;
using ordering::StreamKind;

Nouns nouns(Framework framework) {
  return {.later = "kernel void consume<float>(float const*)",
          .earlier = "cudaMemcpyAsync (host to device)",
          .later_at = "kernel consume (train.py:88)",
          .earlier_at = "cudaMemcpyAsync (host to device) (train.py:61)",
          .later_stream = "stream 2",
          .earlier_stream = "stream 1",
          .later_life = {.number = 2},
          .earlier_life = {.number = 1},
          .event = "event 1",
          .record_at = "record() (train.py:60)",
          .wait_at = "wait_event() (train.py:70)",
          .memory = "device memory",
          .framework = framework};
}

void set_earlier(Nouns& words, const StreamLife& life) {
  words.earlier_stream = stream_report(life).name;
  words.earlier_life = life;
}

void set_later(Nouns& words, const StreamLife& life) {
  words.later_stream = stream_report(life).name;
  words.later_life = life;
}

Hazard race(NearestEdge nearest, HazardKind kind = HazardKind::ReadAfterWrite) {
  Hazard hazard;
  hazard.kind = kind;
  hazard.later = {.mode = AccessMode::Read, .source = AccessSource::Kernel};
  hazard.earlier = {.mode = AccessMode::Write, .source = AccessSource::Copy};
  hazard.explanation.nearest = nearest;
  return hazard;
}

TEST(FrameworkWords, AStreamWaits) {
  const Hazard hazard = race(NearestEdge::None);
  EXPECT_EQ(
      fix(hazard, nouns(Framework::PyTorch)),
      "call s2.wait_stream(s1) after cudaMemcpyAsync (host to device) (train.py:61) and before kernel consume "
      "(train.py:88), where s1 is stream 1 and s2 is stream 2; or, with event = torch.cuda.Event(), event.record(s1) "
      "after the former and s2.wait_event(event) before the latter.");
  EXPECT_EQ(fix(hazard, nouns(Framework::CuPy)),
            "call event = s1.record() after cudaMemcpyAsync (host to device) (train.py:61) and s2.wait_event(event) "
            "before kernel consume (train.py:88), where s1 is stream 1 and s2 is stream 2.");
  EXPECT_EQ(fix(hazard, nouns(Framework::Numba)),
            "with event = cuda.event(), call event.record(s1) after cudaMemcpyAsync (host to device) (train.py:61) and "
            "event.wait(s2) before kernel consume (train.py:88), where s1 is stream 1 and s2 is stream 2.");
  EXPECT_TRUE(fix(hazard, nouns(Framework::None)).starts_with("record an event on stream 1 after ")) << "CUDA's";
}

TEST(FrameworkWords, StreamsThatHaveNoNumber) {
  const Hazard hazard = race(NearestEdge::NonBlockingStream);
  for (const auto& [framework, start, end] :
       {std::tuple(Framework::PyTorch, "call s2.wait_stream(torch.cuda.default_stream()) after ", "the latter."),
        std::tuple(Framework::CuPy, "call event = cupy.cuda.Stream.null.record() after ",
                   ", where s2 is stream 2; or create the stream without non_blocking=True."),
        std::tuple(Framework::Numba,
                   "with event = cuda.event(), call event.record(cuda.legacy_default_stream()) after ",
                   ", where s2 is stream 2.")}) {
    Nouns words = nouns(framework);
    set_earlier(words, {.kind = StreamKind::Legacy});
    const std::string text = fix(hazard, words);
    EXPECT_TRUE(text.starts_with(start)) << text;
    EXPECT_TRUE(text.ends_with(end)) << text;
    EXPECT_EQ(text.find("cudaStreamNonBlocking"), std::string::npos) << text;
  }
  Nouns words = nouns(Framework::CuPy);
  set_earlier(words, {.kind = StreamKind::PerThread, .thread = ordering::ThreadId{1}});
  set_later(words, {.number = 3, .name = "copies"});
  const std::string text = fix(hazard, words);
  EXPECT_NE(text.find("cupy.cuda.Stream.ptds.record()"), std::string::npos) << text;
  EXPECT_NE(text.find("later.wait_event(event)"), std::string::npos) << text;
  EXPECT_NE(text.find(", where cupy.cuda.Stream.ptds is the per-thread default stream of thread 1 and later is stream "
                      "\"copies\""),
            std::string::npos)
      << text;
}

TEST(FrameworkWords, StreamsOfSeveralDevices) {
  Nouns words = nouns(Framework::PyTorch);
  set_earlier(words, {.kind = StreamKind::Legacy, .device = 0});
  set_later(words, {.device = 1, .number = 4});
  EXPECT_TRUE(
      fix(race(NearestEdge::None), words).starts_with("call s4.wait_stream(torch.cuda.default_stream(0)) after "));
  EXPECT_NE(fix(race(NearestEdge::None), words).find(", where s4 is stream 4 of device 1;"), std::string::npos);
  words.framework = Framework::CuPy;
  EXPECT_NE(fix(race(NearestEdge::None), words)
                .find(", where cupy.cuda.Stream.null is the legacy default stream of device 0 and s4 is stream 4 of "
                      "device 1"),
            std::string::npos);
}

TEST(FrameworkWords, DefaultStreamsOfOneNameAreToldApart) {
  Nouns words = nouns(Framework::CuPy);
  set_earlier(words, {.kind = StreamKind::Legacy, .device = 0});
  set_later(words, {.kind = StreamKind::Legacy, .device = 1});
  EXPECT_EQ(fix(race(NearestEdge::None), words),
            "call event = earlier.record() after cudaMemcpyAsync (host to device) (train.py:61) and "
            "later.wait_event(event) before kernel consume (train.py:88), where earlier is the legacy default stream "
            "of device 0 (cupy.cuda.Stream.null) and later is the legacy default stream of device 1 "
            "(cupy.cuda.Stream.null).");
  words.framework = Framework::PyTorch;
  EXPECT_TRUE(fix(race(NearestEdge::None), words)
                  .starts_with("call torch.cuda.default_stream(1).wait_stream(torch.cuda.default_stream(0)) after "))
      << "these have names";
  words.framework = Framework::Numba;
  set_earlier(words, {.kind = StreamKind::PerThread, .thread = ordering::ThreadId{1}});
  set_later(words, {.kind = StreamKind::PerThread, .thread = ordering::ThreadId{2}});
  EXPECT_EQ(fix(race(NearestEdge::None), words),
            "with event = cuda.event(), call event.record(earlier) after cudaMemcpyAsync (host to device) "
            "(train.py:61) and event.wait(later) before kernel consume (train.py:88), where earlier is the per-thread "
            "default stream of thread 1 (cuda.per_thread_default_stream()) and later is the per-thread default stream "
            "of thread 2 (cuda.per_thread_default_stream()).");
  set_later(words, {.number = 2});
  EXPECT_TRUE(fix(race(NearestEdge::None), words)
                  .ends_with(", where cuda.per_thread_default_stream() is the per-thread default stream of thread 1 "
                             "and s2 is stream 2."));
}

TEST(FrameworkWords, TheHostWaits) {
  Hazard hazard = race(NearestEdge::None);
  hazard.later = {.mode = AccessMode::Read, .source = AccessSource::Host, .on_stream = false};
  Nouns words = nouns(Framework::PyTorch);
  words.later_at = "the host's read (train.py:88)";
  const std::string synchronize =
      "call s1.synchronize(), or event.synchronize() for an event recorded after cudaMemcpyAsync (host to device) "
      "(train.py:61), before the host's read (train.py:88), where s1 is stream 1";
  for (Framework framework : {Framework::PyTorch, Framework::CuPy, Framework::Numba}) {
    words.framework = framework;
    for (NearestEdge nearest : {NearestEdge::None, NearestEdge::SyncTooEarly, NearestEdge::EventNotWaitedFor}) {
      hazard.explanation.nearest = nearest;
      EXPECT_EQ(fix(hazard, words), synchronize + ".");
    }
  }
  hazard.kind = HazardKind::WriteAfterRead;
  EXPECT_EQ(fix(hazard, words), synchronize + "; or write to another buffer.");
}

TEST(FrameworkWords, EventsThatDoTooLittle) {
  EXPECT_EQ(fix(race(NearestEdge::EventRecordedTooEarly), nouns(Framework::CuPy)),
            "move record() (train.py:60) behind cudaMemcpyAsync (host to device) (train.py:61), and wait for the event "
            "before kernel consume (train.py:88).");
  EXPECT_EQ(fix(race(NearestEdge::EventNeverRecorded), nouns(Framework::Numba)),
            "call event.record(s1) after cudaMemcpyAsync (host to device) (train.py:61) and before wait_event() "
            "(train.py:70), where event is event 1 and s1 is stream 1.");
  EXPECT_EQ(
      fix(race(NearestEdge::EventNotWaitedFor), nouns(Framework::PyTorch)),
      "call s2.wait_event(event) before kernel consume (train.py:88), where event is event 1 and s2 is stream 2.");
  EXPECT_TRUE(fix(race(NearestEdge::EventNotWaitedFor), nouns(Framework::Numba)).starts_with("call event.wait(s2) "));
  Nouns device = nouns(Framework::PyTorch);
  device.wait_at = "cudaDeviceSynchronize (train.py:70)";
  device.runs_in = "device 1";
  EXPECT_TRUE(fix(race(NearestEdge::OtherDevice), device)
                  .starts_with("make device 1 current before cudaDeviceSynchronize (train.py:70); or call "
                               "s2.wait_stream(s1) after "));
  EXPECT_TRUE(fix(race(NearestEdge::SyncTooEarly), nouns(Framework::PyTorch))
                  .starts_with("call s1.synchronize() after cudaMemcpyAsync (host to device) (train.py:61) and "
                               "before kernel consume (train.py:88); or call s2.wait_stream(s1) after "));
}

TEST(FrameworkWords, AnEventThatIsGoneIsNotAdvised) {
  for (Framework framework : {Framework::PyTorch, Framework::CuPy, Framework::Numba, Framework::None}) {
    Nouns words = nouns(framework);
    const std::string waits = fix(race(NearestEdge::None), words);
    for (NearestEdge nearest :
         {NearestEdge::EventNotWaitedFor, NearestEdge::EventRecordedTooEarly, NearestEdge::EventNeverRecorded}) {
      words.event_gone = false;
      EXPECT_NE(fix(race(nearest), words), waits);
      words.event_gone = true;
      EXPECT_EQ(fix(race(nearest), words), waits);
    }
  }
  // The host would wait for it.
  Nouns words = nouns(Framework::None);
  words.event_gone = true;
  Hazard hazard = race(NearestEdge::EventNotWaitedFor);
  hazard.later = {.mode = AccessMode::Read, .source = AccessSource::Host, .on_stream = false};
  EXPECT_TRUE(fix(hazard, words).starts_with("call cudaStreamSynchronize(stream 1), or cudaEventSynchronize for an "));
}

TEST(FrameworkWords, EventsOfPyTorchsOwnAreNotAdvised) {
  Nouns words = nouns(Framework::PyTorch);
  const std::string waits = fix(race(NearestEdge::None), words);
  words.record_in_reach = false;
  EXPECT_EQ(fix(race(NearestEdge::EventNotWaitedFor), words), waits);
  EXPECT_EQ(fix(race(NearestEdge::EventRecordedTooEarly), words), waits);
  EXPECT_TRUE(fix(race(NearestEdge::EventNeverRecorded), words).starts_with("call event.record(s1) after "));
  words.record_in_reach = true;
  words.wait_in_reach = false;
  EXPECT_EQ(fix(race(NearestEdge::EventNeverRecorded), words), waits);
  EXPECT_TRUE(fix(race(NearestEdge::EventRecordedTooEarly), words).starts_with("move record() (train.py:60) behind "));
  // In a wait_stream() that PyTorch calls.
  words.record_in_reach = false;
  words.record_at = "wait_stream() (train.py:60)";
  words.in_wait_stream = true;
  EXPECT_EQ(fix(race(NearestEdge::EventRecordedTooEarly), words), waits);
}

TEST(FrameworkWords, TheEventOfWaitStreamCannotBeReached) {
  Nouns words = nouns(Framework::PyTorch);
  words.record_at = "wait_stream() (train.py:60)";
  words.in_wait_stream = true;
  EXPECT_EQ(fix(race(NearestEdge::EventRecordedTooEarly), words),
            "move wait_stream() (train.py:60) behind cudaMemcpyAsync (host to device) (train.py:61) and before kernel "
            "consume (train.py:88).");
  EXPECT_TRUE(fix(race(NearestEdge::EventNotWaitedFor), words).starts_with("call s2.wait_stream(s1) after "));
  words.event_gone = true;
  EXPECT_TRUE(fix(race(NearestEdge::EventRecordedTooEarly), words).starts_with("move wait_stream() (train.py:60) "))
      << "it always is";
}

TEST(FrameworkWords, PyTorchsAllocatorIsToldOfTheStream) {
  Nouns words = nouns(Framework::PyTorch);
  words.memory_of_framework = true;
  const std::string reused =
      "; or, if the former's tensor was made in another stream than s1 and freed before the latter's was made, call "
      "tensor.record_stream(s1) before it is freed.";
  EXPECT_TRUE(fix(race(NearestEdge::None, HazardKind::WriteAfterRead), words).ends_with(reused));
  EXPECT_TRUE(fix(race(NearestEdge::None, HazardKind::WriteAfterWrite), words).ends_with(reused));
  EXPECT_FALSE(fix(race(NearestEdge::None), words).ends_with(reused));

  Hazard freed = race(NearestEdge::None, HazardKind::FreeWhileInUse);
  freed.later.source = AccessSource::Free;
  words.later_at = "cudaFreeAsync (train.py:90)";
  EXPECT_TRUE(
      fix(freed, words)
          .starts_with(
              "call tensor.record_stream(s1) for the tensor of cudaMemcpyAsync (host to device) (train.py:61), if it "
              "was "
              "made in another stream than s1, before cudaFreeAsync (train.py:90); or call s2.wait_stream(s1) after "));
  freed.kind = HazardKind::ReuseWhileInUse;
  words.freed_at = " (train.py:85)";
  EXPECT_NE(fix(freed, words).find(" before it is freed (train.py:85); or call s2.wait_stream(s1) "),
            std::string::npos);

  // Memory that is not the framework's, and other frameworks.
  words.memory_of_framework = false;
  EXPECT_TRUE(fix(freed, words).starts_with("tell the pool that stream 1 uses the block "));
  EXPECT_FALSE(fix(race(NearestEdge::None, HazardKind::WriteAfterRead), words).ends_with(reused));
  words = nouns(Framework::CuPy);
  words.memory_of_framework = true;
  EXPECT_EQ(fix(race(NearestEdge::None, HazardKind::WriteAfterRead), words).find("record_stream"), std::string::npos);
}

TEST(FrameworkWords, TheStreamOfABlockIsKnownToBeAnother) {
  Nouns words = nouns(Framework::PyTorch);
  words.memory_of_framework = true;
  words.freed_at = " (train.py:85)";
  const std::string hedge = ", if it was made in another stream than s1,";
  Hazard release = race(NearestEdge::None, HazardKind::ReleaseWhileInUse);
  release.earlier.stream = ordering::StreamId{1};
  release.later = {.stream = ordering::StreamId{2}, .mode = AccessMode::Write, .source = AccessSource::Free};
  words.later_at = "the block's release (train.py:85)";
  EXPECT_TRUE(fix(release, words)
                  .starts_with("call tensor.record_stream(s1) for the tensor of cudaMemcpyAsync (host to device) "
                               "(train.py:61) before the block's release (train.py:85); or call s2.wait_stream(s1) "));

  Hazard reuse = release;
  reuse.kind = HazardKind::ReuseWhileInUse;
  reuse.later.source = AccessSource::Allocate;
  words.later_at = "the block's reuse (train.py:88)";
  EXPECT_TRUE(fix(reuse, words)
                  .starts_with("call tensor.record_stream(s1) for the tensor of cudaMemcpyAsync (host to device) "
                               "(train.py:61) before it is freed (train.py:85); or call s2.wait_stream(s1) "));

  // Of a MemPool it is the first use that meets the earlier life.
  reuse.later.source = AccessSource::Kernel;
  EXPECT_NE(fix(reuse, words).find(hedge), std::string::npos);
  // Of cudaMallocAsync.
  release.kind = HazardKind::FreeWhileInUse;
  EXPECT_NE(fix(release, words).find(hedge), std::string::npos);
  // Never so.
  release.kind = HazardKind::ReleaseWhileInUse;
  release.later.stream = release.earlier.stream;
  EXPECT_NE(fix(release, words).find(hedge), std::string::npos);
}

TEST(FrameworkWords, MemoryOfTheHostKnowsNoRecordStream) {
  Nouns words = nouns(Framework::PyTorch);
  words.memory_of_framework = true;
  using ordering::MemoryKind;
  for (MemoryKind kind : {MemoryKind::Device, MemoryKind::DeviceAsync, MemoryKind::Managed, MemoryKind::Pinned,
                          MemoryKind::Registered, MemoryKind::Pageable}) {
    for (HazardKind what : {HazardKind::WriteAfterRead, HazardKind::WriteAfterWrite, HazardKind::FreeWhileInUse,
                            HazardKind::ReleaseWhileInUse, HazardKind::ReuseWhileInUse}) {
      Hazard hazard = race(NearestEdge::None, what);
      hazard.allocation.kind = kind;
      const bool hinted = kind == MemoryKind::Device || kind == MemoryKind::DeviceAsync;
      const std::string text = fix(hazard, words);
      EXPECT_EQ(text.find("record_stream") != std::string::npos, hinted) << text;
      EXPECT_NE(text.find("call s2.wait_stream(s1) after "), std::string::npos) << text;
    }
  }
  Hazard freed = race(NearestEdge::None, HazardKind::FreeWhileInUse);
  freed.allocation.kind = MemoryKind::Pinned;
  freed.later = {.mode = AccessMode::Write, .source = AccessSource::Free, .on_stream = false};
  words.later_at = "cudaFreeHost (train.py:90)";
  EXPECT_EQ(fix(freed, words),
            "call s1.synchronize(), or event.synchronize() for an event recorded after cudaMemcpyAsync (host to "
            "device) (train.py:61), before cudaFreeHost (train.py:90), where s1 is stream 1.");
}

TEST(FrameworkWords, TheStreamToBeRecordedIsNamed) {
  Nouns words = nouns(Framework::PyTorch);
  words.memory_of_framework = true;
  EXPECT_TRUE(fix(race(NearestEdge::EventRecordedTooEarly, HazardKind::WriteAfterRead), words)
                  .ends_with("call tensor.record_stream(s1) before it is freed, where s1 is stream 1."));
  EXPECT_EQ(fix(race(NearestEdge::EventNotWaitedFor, HazardKind::FreeWhileInUse), words),
            "call tensor.record_stream(s1) for the tensor of cudaMemcpyAsync (host to device) (train.py:61), if it was "
            "made in another stream than s1, before kernel consume (train.py:88), where s1 is stream 1; or call "
            "s2.wait_event(event) before kernel consume (train.py:88), where event is event 1 and s2 is stream 2.");
}

TEST(FrameworkWords, WhatNoOrderMendsIsReportedAsEver) {
  const Hazard used = race(NearestEdge::None, HazardKind::UseAfterFree);
  EXPECT_EQ(fix(used, nouns(Framework::PyTorch)), fix(used, nouns(Framework::None)));
  Hazard by_host = race(NearestEdge::None);
  by_host.earlier.on_stream = false;
  EXPECT_EQ(fix(by_host, nouns(Framework::Numba)), fix(by_host, nouns(Framework::None)));
}

TEST(FrameworkWords, ATensorLivesAsLongAsTheGraphThatUsesIt) {
  Hazard used = race(NearestEdge::None, HazardKind::UseAfterFree);
  used.allocation.block = true;
  Nouns words = nouns(Framework::PyTorch);
  words.memory_of_framework = true;
  EXPECT_TRUE(fix(used, words).starts_with("keep a reference to the tensor as long as the graph is replayed"));
  EXPECT_TRUE(fix(used, nouns(Framework::None)).starts_with("keep the block until the graph's last launch"));
}

TEST(FrameworkWords, AnAssumedRuleIsNoOrder) {
  Hazard hazard = race(NearestEdge::EventNeverRecorded);
  hazard.order = ordering::Order::Latent;
  EXPECT_TRUE(fix(hazard, nouns(Framework::CuPy)).starts_with("call event = s1.record() after "));
}

// ---- from traces: two kernels on two streams, and a wait for an event that nothing records ----

constexpr std::uint64_t kA = 0xA0;
constexpr std::uint64_t kB = 0xB0;
constexpr std::uint64_t kEvent = 0xE0;
constexpr std::uint64_t kBuffer = 0x7000'0000;

/// `module`, `file`: what lies between the driver and the program; `method`: what the call on the event was made in.
Judged from_python(std::string_view module, std::string_view file,
                   std::string_view maker = "/venv/lib/python3.12/site-packages/torch/lib/libc10_cuda.so",
                   std::string_view method = "Stream.wait_event") {
  trace::TraceBuilder trace;
  trace.module(module, 0x100000, 0x100000, 0x110000);
  trace.module(maker, 0x200000, 0x200000, 0x210000);
  trace.module("/usr/bin/python3.12", 0x900000, 0x900000, 0x910000);
  trace.python_frame(1, "Framework.launch", file, 7);
  trace.python_frame(2, "step", "/home/me/train.py", 20);
  trace.python_frame(3, "step", "/home/me/train.py", 21);
  trace.python_frame(4, method, file, 9);
  trace.function(1, "_Z4fillPf");
  trace.function(2, "_ZN2at6native3sumIfEEvPKT_");
  trace.at({0x200010, 0x900010}, {2}).stream_create(kA, trace::NonBlocking::Yes);
  trace.stream_create(kB, trace::NonBlocking::Yes);
  trace.event_create(kEvent);
  trace.alloc(kBuffer, 4096);
  trace.at({0x100010, 0x900010}, {1, 2}).launch(kA, 1, {kBuffer});
  trace.at({0x100020, 0x900010}, {4, 3}).event_wait(kB, kEvent);
  trace.at({0x100010, 0x900010}, {1, 3}).launch(kB, 2, {kBuffer});
  return judged(trace);
}

TEST(FrameworkWords, FromATrace) {
  const std::string packages = "/venv/lib/python3.12/site-packages/";
  const Judged torch = from_python(packages + "torch/lib/libtorch_cuda.so", packages + "torch/_ops.py");
  ASSERT_EQ(torch.findings.size(), 1u);
  EXPECT_EQ(torch.findings[0].fix,
            "call event.record(s1) after kernel fill (train.py:20) and before wait_event() (train.py:21), where event "
            "is event 1 and s1 is stream 1.");

  // Where PyTorch waits by itself.
  const std::string maker = packages + "torch/lib/libc10_cuda.so";
  const Judged inside =
      from_python(packages + "torch/lib/libtorch_cuda.so", packages + "torch/_tensor.py", maker, "Tensor.backward");
  ASSERT_EQ(inside.findings.size(), 1u);
  EXPECT_TRUE(inside.findings[0].fix.starts_with(
      "call s2.wait_stream(s1) after kernel fill (train.py:20) and before kernel sum (train.py:21), where "))
      << inside.findings[0].fix;

  // In streams that a library made for itself.
  const Judged cudnn = from_python(packages + "torch/lib/libtorch_cuda.so", packages + "torch/_ops.py",
                                   packages + "nvidia/cudnn/lib/libcudnn_graph.so.9");
  ASSERT_EQ(cudnn.findings.size(), 1u);
  EXPECT_TRUE(cudnn.findings[0].fix.starts_with("call cuEventRecord(event 1, stream 1) ")) << cudnn.findings[0].fix;

  // The same lines of Python without a framework.
  const Judged plain = from_python("/home/me/ext.so", "/home/me/ext.py");
  ASSERT_EQ(plain.findings.size(), 1u);
  EXPECT_EQ(plain.findings[0].fix,
            "call cuEventRecord(event 1, stream 1) after kernel fill(float*) and before cuStreamWaitEvent.");
}

/// An event is recorded behind the first of two kernels, and the second one's stream does not wait for it.
/// `module`: of the kernels; `recorder`: of the record, if that is another.
std::string fix_of_record(std::string_view module, std::string_view method, bool destroyed,
                          std::string_view recorder = {}) {
  const std::string packages = "/venv/lib/python3.12/site-packages/";
  trace::TraceBuilder trace;
  trace.module(module, 0x100000, 0x100000, 0x110000);
  trace.module(recorder.empty() ? module : recorder, 0x200000, 0x200000, 0x210000);
  trace.module("/usr/bin/python3.12", 0x900000, 0x900000, 0x910000);
  trace.python_frame(1, method, packages + "torch/cuda/streams.py", 7);
  trace.python_frame(2, "step", "/home/me/train.py", 20);
  trace.function(1, "_Z4fillPf");
  trace.stream_create(kA, trace::NonBlocking::Yes);
  trace.stream_create(kB, trace::NonBlocking::Yes);
  trace.event_create(kEvent);
  trace.alloc(kBuffer, 4096);
  trace.at({0x100010, 0x900010}, {2}).launch(kA, 1, {kBuffer});
  trace.at({0x200020, 0x900010}, {1, 2}).event_record(kA, kEvent);
  if (destroyed) trace.event_destroy(kEvent);
  trace.at({0x100010, 0x900010}, {2}).launch(kB, 1, {kBuffer});
  const Judged found = judged(trace);
  EXPECT_EQ(found.findings.size(), 1u);
  if (found.findings.empty()) return "";
  EXPECT_EQ(found.findings[0].cause, report::Cause::NeverWaited);
  return found.findings[0].fix;
}

TEST(FrameworkWords, OfAnEventThatTheProgramCannotReach) {
  const std::string torch = "/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so";
  const std::string known =
      "call s2.wait_event(event) before kernel fill (train.py:20), where event is event 1 and s2 is stream 2.";
  const std::string anew = "call s2.wait_stream(s1) after kernel fill (train.py:20) and before kernel fill ";
  EXPECT_EQ(fix_of_record(torch, "Event.record", false), known);
  EXPECT_TRUE(fix_of_record(torch, "Event.record", true).starts_with(anew));
  EXPECT_TRUE(fix_of_record(torch, "Tensor.backward", false).starts_with(anew));
  EXPECT_TRUE(fix_of_record(torch, "Tensor.backward", true).starts_with(anew));
  // The same in CUDA's words.
  EXPECT_EQ(fix_of_record("/home/me/ext.so", "Event.record", false),
            "call cuStreamWaitEvent(stream 2, event 1) before kernel fill(float*).");
  const std::string in_cudas =
      "record an event on stream 1 after kernel fill(float*) and call cuStreamWaitEvent(stream 2, event) before "
      "kernel fill(float*).";
  EXPECT_EQ(fix_of_record("/home/me/ext.so", "Event.record", true), in_cudas);
  EXPECT_EQ(fix_of_record("/home/me/ext.so", "Tensor.backward", false, torch), in_cudas) << "two of an extension's";
  EXPECT_EQ(fix_of_record("/home/me/ext.so", "f", false, "/x/libcublas.so.13"), in_cudas) << "cuBLAS's own";
}

TEST(FrameworkWords, OfAnEventThatNothingRecords) {
  for (const auto& [file, words] :
       {std::pair("/venv/lib/python3.12/site-packages/torch/cuda/streams.py",
                  "call event.record(stream), where event is event 1, after the work that stream 1 is to wait for and "
                  "before wait() (train.py:21), or remove the wait."),
        std::pair("/venv/lib/python3.12/site-packages/torch/distributed/x.py",
                  "call cuEventRecord(event 1, stream) after the work that stream 1 is to wait for and before "
                  "cuStreamWaitEvent (train.py:21), or remove the wait."),
        std::pair("/venv/lib/python3.12/site-packages/numba/cuda/cudadrv/driver.py",
                  "call event.record(stream), where event is event 1, after the work that stream 1 is to wait for and "
                  "before wait() (train.py:21), or remove the wait."),
        std::pair("/home/me/driver.py",
                  "call cuEventRecord(event 1, stream) after the work that stream 1 is to wait for and before "
                  "cuStreamWaitEvent (driver.py:7), or remove the wait.")}) {
    trace::TraceBuilder trace;
    trace.module("/usr/bin/python3.12", 0x900000, 0x900000, 0x910000);
    // Inside of an operator of PyTorch's the event is PyTorch's.
    const bool operation = std::string_view(file).ends_with("/x.py");
    trace.python_frame(1, operation ? "gather" : "Event.wait", file, 7);
    trace.python_frame(2, "step", "/home/me/train.py", 21);
    trace.stream_create(kA, trace::NonBlocking::No);
    trace.event_create(kEvent);
    trace.at({0x900010}, {1, 2}).event_wait(kA, kEvent);
    const Judged found = judged(trace);
    ASSERT_EQ(found.misuses.size(), 1u);
    EXPECT_EQ(found.misuses[0].fix, words);
  }
}

}  // namespace
}  // namespace streamsan::judge
