// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sentences, literally.
#include "judge/wording.h"

#include <gtest/gtest.h>

#include "ordering/rules.h"

namespace streamsan::judge {
namespace {

using ordering::AccessMode;
using ordering::AccessSource;
using ordering::Hazard;
using ordering::HazardKind;
using ordering::NearestEdge;
using ordering::OpId;

Nouns nouns() {
  return {.later_actor = "kernel consume(float const*)",
          .earlier_actor = "cudaMemcpyAsync (host to device)",
          .later = "kernel consume(float const*)",
          .earlier = "cudaMemcpyAsync (host to device)",
          .later_at = "kernel consume(float const*) (train.cu:88)",
          .earlier_at = "cudaMemcpyAsync (host to device) (train.cu:61)",
          .later_stream = "stream 2",
          .earlier_stream = "stream 1",
          .event = "event 1",
          .record_at = "cudaEventRecord (train.cu:60)",
          .wait_at = "cudaStreamWaitEvent (train.cu:70)",
          .memory = "device memory"};
}

Hazard race(NearestEdge nearest) {
  Hazard hazard;
  hazard.kind = HazardKind::ReadAfterWrite;
  hazard.later = {.op = OpId{18}, .mode = AccessMode::Read, .source = AccessSource::Kernel};
  hazard.earlier = {.op = OpId{15}, .mode = AccessMode::Write, .source = AccessSource::Copy};
  hazard.explanation = {.nearest = nearest, .record = OpId{12}, .wait = OpId{17}};
  return hazard;
}

TEST(Wording, NoEdge) {
  Hazard hazard = race(NearestEdge::None);
  EXPECT_EQ(
      message(hazard, nouns()),
      "kernel consume(float const*) on stream 2 reads device memory that cudaMemcpyAsync (host to device) on stream 1 "
      "may still be writing.");
  EXPECT_EQ(explanation(hazard, nouns()),
            "nothing makes stream 2 wait for stream 1 between cudaMemcpyAsync (host to device) (op #15) and kernel "
            "consume(float const*) (op #18).");
  EXPECT_EQ(fix(hazard, nouns()),
            "record an event on stream 1 after cudaMemcpyAsync (host to device) (train.cu:61) and call "
            "cudaStreamWaitEvent(stream 2, event) before kernel consume(float const*) (train.cu:88).");
}

TEST(Wording, OrderThatIsNotSeenIsTheReasonForDoubt) {
  Hazard hazard = race(NearestEdge::None);
  hazard.certainty = ordering::Certainty::Possible;
  hazard.later.exact = false;
  EXPECT_NE(explanation(hazard, nouns()).find("they may use disjoint parts of the buffer."), std::string::npos);
  hazard.order_known = false;
  EXPECT_EQ(explanation(hazard, nouns()),
            "nothing makes stream 2 wait for stream 1 between cudaMemcpyAsync (host to device) (op #15) and kernel "
            "consume(float const*) (op #18). StreamSan does not see all of this process's order (see the warning); "
            "the unseen part may order the two.");
}

TEST(Wording, DriverProgramsReadDriverNames) {
  Nouns words = nouns();
  words.runtime = false;
  EXPECT_NE(fix(race(NearestEdge::None), words).find("call cuStreamWaitEvent(stream 2, event)"), std::string::npos);
}

TEST(Wording, EventRecordedTooEarly) {
  Hazard hazard = race(NearestEdge::EventRecordedTooEarly);
  EXPECT_EQ(
      explanation(hazard, nouns()),
      "stream 2 waits for event 1 (op #17), but it was recorded at op #12, BEFORE cudaMemcpyAsync (host to device) "
      "(op #15).");
  EXPECT_EQ(
      fix(hazard, nouns()),
      "move cudaEventRecord (train.cu:60) behind cudaMemcpyAsync (host to device) (train.cu:61), and wait for the "
      "event before kernel consume(float const*) (train.cu:88).");
}

TEST(Wording, EventNeverRecorded) {
  Hazard hazard = race(NearestEdge::EventNeverRecorded);
  EXPECT_EQ(explanation(hazard, nouns()),
            "stream 2 waits for event 1 (op #17), but nothing had recorded it by then: such a wait does nothing.");
  EXPECT_EQ(fix(hazard, nouns()),
            "call cudaEventRecord(event 1, stream 1) after cudaMemcpyAsync (host to device) (train.cu:61) and before "
            "cudaStreamWaitEvent (train.cu:70).");
}

TEST(Wording, EventNotWaitedFor) {
  Hazard hazard = race(NearestEdge::EventNotWaitedFor);
  EXPECT_EQ(
      explanation(hazard, nouns()),
      "event 1 is recorded (op #12) after cudaMemcpyAsync (host to device) (op #15), but stream 2 does not wait for it "
      "before kernel consume(float const*) (op #18).");
  EXPECT_EQ(fix(hazard, nouns()),
            "call cudaStreamWaitEvent(stream 2, event 1) before kernel consume(float const*) (train.cu:88).");
}

TEST(Wording, SyncTooEarly) {
  EXPECT_EQ(
      explanation(race(NearestEdge::SyncTooEarly), nouns()),
      "the host did synchronise with stream 1, but before cudaMemcpyAsync (host to device) (op #15) was submitted.");
  EXPECT_TRUE(fix(race(NearestEdge::SyncTooEarly), nouns())
                  .starts_with("synchronise with stream 1 after cudaMemcpyAsync (host to device) (train.cu:61) and "
                               "before kernel consume(float const*) (train.cu:88); or record an event on stream 1 "));
}

TEST(Wording, OtherDevice) {
  Nouns words = nouns();
  words.earlier_stream = "stream 1 of device 1";
  words.wait_at = "cudaDeviceSynchronize (train.cu:70)";
  words.waited_for = "device 0";
  words.runs_where = "on device 1";
  words.runs_in = "device 1";
  EXPECT_EQ(explanation(race(NearestEdge::OtherDevice), words),
            "cudaDeviceSynchronize (train.cu:70) waits for all work of device 0, and cudaMemcpyAsync (host to device) "
            "(op #15) runs on device 1.");
  EXPECT_TRUE(fix(race(NearestEdge::OtherDevice), words)
                  .starts_with("make device 1 current before cudaDeviceSynchronize (train.cu:70); or record an event "
                               "on stream 1 of device 1 after "));
  words.wait_in_reach = false;
  EXPECT_TRUE(fix(race(NearestEdge::OtherDevice), words).starts_with("record an event on stream 1 of device 1 after "));
}

/// Three kernels of one stream.
Hazard dependent(ordering::DependentUse use) {
  Hazard hazard = race(NearestEdge::DependentLaunch);
  hazard.earlier.source = AccessSource::Kernel;
  hazard.explanation = {.nearest = NearestEdge::DependentLaunch, .use = use};
  return hazard;
}
Nouns of_kernels() {
  Nouns words = nouns();
  words.later_stream = words.earlier_stream;
  words.earlier = words.earlier_actor = "kernel produce(float*)";
  words.earlier_at = "kernel produce(float*) (train.cu:61)";
  words.between = "kernel other()";
  words.between_at = "kernel other() (train.cu:70)";
  return words;
}

TEST(Wording, DependentLaunch) {
  const std::string begins =
      "kernel consume(float const*) (op #18) is launched with programmatic serialisation, so it may begin before "
      "kernel "
      "produce(float*) (op #15) has ended, and ";
  const Hazard never = dependent(ordering::DependentUse::NeverWaits);
  EXPECT_EQ(explanation(never, of_kernels()), begins + "it never waits for the kernel in front of it.");
  EXPECT_EQ(
      fix(never, of_kernels()),
      "call cudaGridDependencySynchronize() in kernel consume(float const*) before it touches the memory; or launch "
      "kernel consume(float const*) (train.cu:88) without programmatic serialisation.");
  Hazard early = dependent(ordering::DependentUse::BeforeWait);
  EXPECT_EQ(explanation(early, of_kernels()), begins + "it touches the memory before it waits for that kernel.");
  early.order = ordering::Order::Latent;
  early.leaned_on = ordering::Rule::LCH_02a;
  EXPECT_TRUE(explanation(early, of_kernels()).starts_with(begins));
  EXPECT_NE(explanation(early, of_kernels()).find(" Today's driver orders the two by R-LCH-02a ("), std::string::npos);
  EXPECT_TRUE(fix(early, of_kernels()).starts_with("call cudaGridDependencySynchronize() in kernel consume"));
}

TEST(Wording, DependentLaunchBehindOneThatDidNotWait) {
  Hazard chain = dependent(ordering::DependentUse::AfterWait);
  chain.explanation.record = OpId{17};
  EXPECT_EQ(
      explanation(chain, of_kernels()),
      "kernel consume(float const*) (op #18) waits for kernel other() (op #17) right in front of it, and that did "
      "not wait for kernel produce(float*) (op #15): the wait covers no more than the kernel in front has waited "
      "for.");
  EXPECT_EQ(fix(chain, of_kernels()),
            "call cudaGridDependencySynchronize() in kernel other() (train.cu:70); or launch that without programmatic "
            "serialisation.");
}

TEST(Wording, DependentLaunchBehindAKernelOfUnknownCode) {
  Hazard possible = dependent(ordering::DependentUse::BeforeWait);
  possible.certainty = ordering::Certainty::Possible;
  EXPECT_TRUE(
      explanation(possible, of_kernels())
          .ends_with(" The code of the kernel in front is not known: if it does not let the next one begin early, "
                     "they do not meet."));
}

TEST(Wording, LaunchEvent) {
  EXPECT_EQ(
      explanation(race(NearestEdge::LaunchEvent), nouns()),
      "stream 2 waits for event 1 (op #17), which the launch of cudaMemcpyAsync (host to device) (op #15) records "
      "itself: it fires when the kernel begins or triggers, not when it has ended.");
  EXPECT_EQ(
      fix(race(NearestEdge::LaunchEvent), nouns()),
      "call cudaEventRecord(event 1, stream 1) after cudaMemcpyAsync (host to device) (train.cu:61), instead of the "
      "attribute that records it there.");
}

TEST(Wording, NonBlockingAgainstLegacyNamesTheNonBlockingOne) {
  Nouns words = nouns();
  words.earlier_stream = "the legacy default stream";
  words.earlier_life.kind = ordering::StreamKind::Legacy;
  EXPECT_EQ(explanation(race(NearestEdge::NonBlockingStream), words),
            "stream 2 is non-blocking: the legacy default stream neither waits for it nor makes it wait.");
  EXPECT_NE(
      fix(race(NearestEdge::NonBlockingStream), words).find("; or create the stream without cudaStreamNonBlocking."),
      std::string::npos);
}

TEST(Wording, FreeOnTheHost) {
  Hazard hazard = race(NearestEdge::None);
  hazard.kind = HazardKind::FreeWhileInUse;
  hazard.later = {.mode = AccessMode::Write, .source = AccessSource::Free, .on_stream = false};
  hazard.earlier.mode = AccessMode::Read;
  hazard.earlier.source = AccessSource::Kernel;
  Nouns words = nouns();
  words.later_actor = words.later = words.later_at = "cudaFree";
  words.earlier_actor = words.earlier = words.earlier_at = "kernel consume(float const*)";
  EXPECT_EQ(message(hazard, words),
            "cudaFree frees device memory that kernel consume(float const*) on stream 1 may still be reading.");
  EXPECT_EQ(explanation(hazard, words),
            "the host does not wait for kernel consume(float const*) (op #15) on stream 1 before cudaFree.");
  EXPECT_EQ(
      fix(hazard, words),
      "call cudaStreamSynchronize(stream 1), or cudaEventSynchronize for an event recorded after kernel consume(float "
      "const*), before cudaFree.");
  hazard.allocation.kind = ordering::MemoryKind::DeviceAsync;
  EXPECT_NE(fix(hazard, words).find("; or free it in stream order with cudaFreeAsync in stream 1."), std::string::npos);
}

TEST(Wording, LatentNamesTheRuleItLeansOn) {
  Hazard hazard = race(NearestEdge::None);
  hazard.order = ordering::Order::Latent;
  hazard.leaned_on = ordering::Rule::ALC_02;
  std::string text = explanation(hazard, nouns());
  EXPECT_TRUE(text.starts_with("today's driver orders the two by R-ALC-02 (")) << text;
  EXPECT_TRUE(text.ends_with(") No document promises that it always will.")) << text;
}

TEST(Wording, AHostFunctionThatMayHaveToldTheHostIsTheReasonForDoubt) {
  Hazard hazard = race(NearestEdge::None);
  hazard.certainty = ordering::Certainty::Possible;
  hazard.perhaps_signalled = true;
  EXPECT_EQ(explanation(hazard, nouns()),
            "nothing makes stream 2 wait for stream 1 between cudaMemcpyAsync (host to device) (op #15) and kernel "
            "consume(float const*) (op #18). A host function behind cudaMemcpyAsync (host to device) (op #15) may have "
            "notified the host that it is done: that order is not seen.");
}

TEST(Wording, PossibleSaysWhyItIsNotCertain) {
  Hazard hazard = race(NearestEdge::None);
  EXPECT_EQ(explanation(hazard, nouns()).find("disjoint"), std::string::npos);
  hazard.certainty = ordering::Certainty::Possible;
  hazard.later.exact = false;
  EXPECT_TRUE(explanation(hazard, nouns())
                  .ends_with("they may use disjoint parts of the buffer. Measuring them would decide it "
                             "(--footprints=measured)."));
  Nouns measuring = nouns();
  measuring.measuring = true;
  EXPECT_TRUE(explanation(hazard, measuring).ends_with("These launches were not measured, or not completely."));
  hazard.later.exact = hazard.later.learned = true;
  EXPECT_NE(explanation(hazard, measuring).find("was learned from earlier launches with the same arguments"),
            std::string::npos);
  hazard.later.learned = false;
  hazard.later.widened = true;
  EXPECT_NE(explanation(hazard, measuring).find("what is known is an upper bound"), std::string::npos);
}

TEST(Wording, AKernelThatWaitsForWordsSaysSo) {
  Hazard hazard = race(NearestEdge::None);
  hazard.certainty = ordering::Certainty::Possible;
  hazard.later.signalled = true;
  EXPECT_TRUE(
      explanation(hazard, nouns())
          .ends_with(" waits in a loop for a word that another kernel or the host stores, which may order the two "
                     "unseen."));
  hazard.earlier.signalled = true;
  EXPECT_NE(explanation(hazard, nouns()).find(" wait in loops for words"), std::string::npos);
  hazard.later.exact = false;
  EXPECT_TRUE(explanation(hazard, nouns()).ends_with(" they may use disjoint parts of the buffer."))
      << "no measurement is asked for";
  hazard.later.exact = hazard.later.learned = true;
  EXPECT_EQ(explanation(hazard, nouns()).find("measure"), std::string::npos);
  hazard.kind = HazardKind::UseAfterFree;
  EXPECT_EQ(explanation(hazard, nouns()).find("loop"), std::string::npos) << "no order makes that right";
}

TEST(Wording, AtomicsAreNamed) {
  Hazard hazard = race(NearestEdge::None);
  hazard.kind = HazardKind::WriteAfterWrite;
  hazard.later.mode = AccessMode::Atomic;
  EXPECT_EQ(verb_of(hazard.later), report::Verb::AtomicUpdate);
  EXPECT_NE(message(hazard, nouns()).find(" on stream 2 updates by atomics device memory that "), std::string::npos);
}

TEST(Wording, AnInferredWriteMayWrite) {
  Hazard hazard = race(NearestEdge::None);
  hazard.kind = HazardKind::WriteAfterWrite;
  hazard.later.mode = AccessMode::Unknown;
  EXPECT_NE(message(hazard, nouns()).find(" on stream 2 may write device memory that "), std::string::npos);
}

TEST(Wording, InsideOfALibraryNoCallCanBeAdded) {
  Nouns words = nouns();
  words.inside = "cusolverDnXgeev (geev.cpp:88)";
  Hazard hazard = race(NearestEdge::None);
  EXPECT_EQ(
      fix(hazard, words),
      "both are done inside of cusolverDnXgeev (geev.cpp:88), where the program can add no call; report it to the "
      "library's authors, or suppress it by its fingerprint.");
  EXPECT_NE(fix(race(NearestEdge::NonBlockingStream), words)
                .find("give the library a stream that was created without cudaStreamNonBlocking, report it"),
            std::string::npos);
  hazard.allocation.kind = ordering::MemoryKind::Pinned;
  EXPECT_NE(fix(hazard, words).find("give the library pageable memory (malloc): "), std::string::npos);
  words.framework = Framework::PyTorch;
  EXPECT_NE(fix(hazard, words).find("inside of cusolverDnXgeev"), std::string::npos)
      << "PyTorch can add no call either";
}

}  // namespace
}  // namespace streamsan::judge
