// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The section about synchronisation, word for word.
#include "report/sync_text.h"

#include <gtest/gtest.h>

namespace streamsan::report {
namespace {

Finding finding(Verdict verdict, std::string what, std::uint64_t calls, std::uint64_t idle) {
  Finding out;
  out.pid = 42;
  out.kind = Kind::UnneededSync;
  out.severity = Severity::Note;
  out.hazard = Word<Hazard>::of(name(verdict));
  out.fingerprint = "0123456789abcdef";
  SyncReport& sync = out.sync.emplace();
  sync.verdict = verdict;
  sync.waits = Waits::Stream;
  sync.what = std::move(what);
  sync.calls = calls;
  sync.idle_calls = idle;
  sync.evidence = KernelBytes::Measured;
  return out;
}

Finding narrower() {
  Finding out = finding(Verdict::Narrower, "cudaStreamSynchronize", 3, 1);
  out.message = "cudaStreamSynchronize (a.cu:7) is needed only between x and y.";
  out.explanation = "It was verified.";
  out.fix = "an event.";
  out.sync->removable = true;
  out.sync->stack = {{.function = "step()", .file = "/src/a.cu", .line = 7, .column = 3}};
  OrderedPair& pair = out.sync->orders.emplace_back();
  pair.later.verb = Verb::Read;
  pair.later.what = "kernel y()";
  pair.later.stream = {.name = "stream 2", .kind = StreamKind::NonBlocking, .handle = 2};
  pair.later.op = 5;
  pair.earlier.verb = Verb::Write;
  pair.earlier.what = "kernel x()";
  pair.earlier.stream = {.name = "stream 1", .kind = StreamKind::NonBlocking, .handle = 1};
  pair.earlier.op = 4;
  pair.buffer = BufferReport{
      .memory = "device memory", .name = "", .allocator = "cudaMalloc", .address = 1, .bytes = 2, .stack = {}};
  pair.count = 3;
  return out;
}

TEST(SyncText, OneSite) {
  EXPECT_EQ(sync_text(narrower(), {.color = false, .strip_path_prefix = "/src"}),
            "==42== NOTE: streamsan: sync narrower: cudaStreamSynchronize (a.cu:7) is needed only between x and y.\n"
            "  3 calls, 1 of them with nothing to wait for\n"
            "      #0 step() a.cu:7:3\n"
            "  It alone orders read by kernel y() on stream 2, op #5\n"
            "            after write by kernel x() on stream 1, op #4\n"
            "            on device memory allocated by cudaMalloc, 3 times\n"
            "  Why: It was verified.\n"
            "  Fix: an event.\n"
            "  [properties] kind=unneeded-sync verdict=narrower waits=stream calls=3 idle=1 pairs=1 evidence=measured "
            "fingerprint=0123456789abcdef\n");
}

TEST(SyncText, WhatCanBeWonComesFirst) {
  Finding unneeded = finding(Verdict::Unneeded, "cudaDeviceSynchronize", 1, 0);
  unneeded.message = "first.";
  unneeded.sync->removable = true;
  Finding idle = finding(Verdict::Unneeded, "cudaDeviceSynchronize", 2, 2);
  idle.message = "idle.";
  Finding needed = finding(Verdict::Needed, "cudaDeviceSynchronize", 1, 0);
  needed.message = "needed.";
  Finding timing = finding(Verdict::Timing, "cudaDeviceSynchronize", 1, 0);
  timing.message = "timing.";
  timing.sync->reasons = {"a clock."};
  const std::vector<Finding> all{needed, timing, idle, narrower(), unneeded};
  const std::string text = sync_section(all, {}, false);
  EXPECT_LT(text.find("first."), text.find("is needed only"));
  EXPECT_LT(text.find("is needed only"), text.find("timing."));
  EXPECT_EQ(text.find("needed."), std::string::npos);
  EXPECT_EQ(text.find("idle."), std::string::npos);
  EXPECT_NE(
      text.find("\n==42== streamsan: 5 synchronising call sites: 1 unneeded, 1 narrower, 1 timing, 1 needed, 1 that "
                "never had to wait (2 not shown: verbosity=1 shows all)\n"
                "==42== streamsan: a replay with both of these changes at once was clean\n"),
      std::string::npos)
      << text;
  EXPECT_NE(sync_section(all, {}, true).find("idle."), std::string::npos);
  EXPECT_EQ(sync_section({}, {}, true), "");
}

TEST(SyncText, TimeRanks) {
  Finding unneeded = finding(Verdict::Unneeded, "cudaDeviceSynchronize", 1, 0);
  unneeded.message = "first.";
  unneeded.sync->removable = true;
  unneeded.sync->blocked_ms = 1.5;
  Finding slow = narrower();
  slow.sync->blocked_ms = 1;
  slow.sync->gpu_idle_ms = 2;
  slow.sync->overlap_ms = 10.25;
  const std::string text = sync_section({unneeded, slow}, {}, false);
  EXPECT_LT(text.find("is needed only"), text.find("first."));
  EXPECT_NE(
      text.find("the host was blocked for 1.000 ms, the GPU had nothing to do for 2.000 ms, overlap lost 10.2 ms"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("==42== streamsan: at most 13.8 ms could be won\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace streamsan::report
