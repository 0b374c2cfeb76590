// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings that one missing edge explains, as text and in files.
#include "report/groups.h"

#include <gtest/gtest.h>

#include "report/json.h"
#include "report/read_json.h"
#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

/// Three findings of one edge: the second is the worst.
std::vector<Finding> three() {
  std::vector<Finding> out(3, sample_race());
  const char* prints[] = {"0000000000000001", "0000000000000002", "0000000000000003"};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].fingerprint = prints[i];
    out[i].group = prints[1];
  }
  out[0].severity = Severity::Latent;
  return out;
}

std::vector<const Finding*> pointers(const std::vector<Finding>& findings) {
  std::vector<const Finding*> out;
  for (const Finding& finding : findings) out.push_back(&finding);
  return out;
}

TEST(Groups, TheWorstIsToldWholeAndTheOthersFollow) {
  const std::vector<Finding> findings = three();
  const std::vector<EdgeGroup> groups = grouped(pointers(findings));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].worst, &findings[1]);
  const std::string out = text(groups[0], {});
  EXPECT_EQ(out.find("  Fix: "), out.rfind("  Fix: ")) << out;
  EXPECT_TRUE(has(out, "  The Fix above repairs the next 2 findings, too.\n")) << out;
  EXPECT_TRUE(out.ends_with(
      "\n==4711== ERROR: streamsan: read-after-write race on device memory 0x7f000000a000 [up to 4096 bytes overlap]\n"
      "  Read by kernel consume(float const*) on stream 2 (non-blocking), op #18 (a pointer argument), at "
      "/src/train.cu:88:5 in step()\n"
      "  Previous write by cudaMemcpyAsync (host to device) on stream 1 (blocking), op #15, at (train+0x1444) in "
      "load()\n"
      "  [properties] kind=race hazard=read-after-write severity=error cause=event-recorded-too-early "
      "streams=stream-1,stream-2 ops=15,18 count=1 fingerprint=0000000000000003\n"))
      << out;
}

TEST(Groups, ALineMayStandBelowEach) {
  const std::vector<Finding> findings = three();
  const auto below = [](const Finding& finding) {
    return finding.fingerprint.ends_with('1') ? "" : "below " + finding.fingerprint + "\n";
  };
  const std::string out = text(grouped(pointers(findings))[0], {}, below);
  EXPECT_TRUE(has(out, "findings, too.\nbelow 0000000000000002\n\n==")) << out;
  EXPECT_TRUE(has(out, "fingerprint=0000000000000001\n\n==")) << out;
  EXPECT_TRUE(out.ends_with("fingerprint=0000000000000003\nbelow 0000000000000003\n")) << out;
}

TEST(Groups, OfAnotherProcessOrAloneIsApart) {
  std::vector<Finding> findings = three();
  findings[2].pid = 4712;
  findings.push_back(sample_race());
  findings.push_back(sample_race());
  const std::vector<EdgeGroup> groups = grouped(pointers(findings));
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].others.size(), 1u);
  EXPECT_EQ(text(groups[2], {}), text(findings[3], {}));
}

TEST(Groups, AreKeptInJson) {
  std::vector<Finding> findings = three();
  findings[0].weaker = 7;
  findings[0].overlap = OverlapReport{.bytes = 512, .runs = 8, .width = 64, .pitch = 256, .end = 0x7f000000a800};
  findings[0].buffer->variable = true;
  FindingsFile read;
  ASSERT_EQ(read_json(json(findings, {}), read), "");
  ASSERT_EQ(read.findings.size(), 3u);
  EXPECT_EQ(read.findings[0].group, "0000000000000002");
  EXPECT_EQ(read.findings[0].weaker, 7u);
  ASSERT_TRUE(read.findings[0].overlap);
  EXPECT_EQ(read.findings[0].overlap->pitch, 256u);
  EXPECT_TRUE(read.findings[0].buffer->variable);
  EXPECT_FALSE(read.findings[1].overlap);
}

TEST(Groups, TextOfAllCommonBytes) {
  Finding f = sample_race();
  f.overlap = OverlapReport{.bytes = 512, .runs = 8, .width = 64, .pitch = 256, .end = 0x7f000000a800};
  EXPECT_TRUE(has(text(f, {}), " 0x7f000000a000 [up to 512 bytes overlap: 8 rows of 64 bytes, 256 apart]\n"))
      << text(f, {});
  f.overlap = OverlapReport{.bytes = 640, .runs = 3, .end = 0x7f000000a800, .more = true};
  EXPECT_TRUE(has(text(f, {}), " [up to 640 bytes overlap: 3 ranges up to 0x7f000000a800, and more]\n")) << text(f, {});
}

TEST(Groups, WhatIsCountedIsSaid) {
  Finding f = sample_race();
  f.count = 3;
  EXPECT_TRUE(has(text(f, {}), "  Seen 3 times between these two places, going by the arguments of the calls.\n"));
  f.accesses[0].evidence = Evidence::Exact;
  EXPECT_TRUE(has(text(f, {}), "  Seen 3 times between these two places.\n"));
  f.weaker = 997;
  EXPECT_TRUE(has(text(f, {}), "  Seen 997 more times, with less certainty about bytes or order.\n"));
  f.count = 1;
  f.weaker = 1;
  EXPECT_TRUE(has(text(f, {}), "  Seen 1 more time, with less certainty about bytes or order.\n"));
}

TEST(Groups, AVariableOfAModuleWasNotAllocated) {
  Finding f = sample_race();
  f.buffer->memory = "a module's variable";
  f.buffer->variable = true;
  f.buffer->allocator = "cudaMemcpyToSymbol";
  EXPECT_TRUE(has(text(f, {}), " race on a module's variable 0x7f000000a000 ["));
  EXPECT_TRUE(has(text(f, {}), "\n  Variable 0x7f000000a000 [8192 bytes] looked up by cudaMemcpyToSymbol\n"));
  f.buffer->allocator.clear();
  EXPECT_TRUE(has(text(f, {}), "\n  Variable 0x7f000000a000 [8192 bytes]\n"));
}

}  // namespace
}  // namespace streamsan::report
