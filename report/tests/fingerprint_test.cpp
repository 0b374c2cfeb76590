// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/fingerprint.h"

#include <gtest/gtest.h>

#include "report/tests/sample.h"

namespace streamsan::report {
namespace {

/// Users have them in baselines and in the services that read SARIF: another value makes every finding a new one.
TEST(LastingFingerprint, IsTheOneThatWasRecorded) {
  EXPECT_EQ(lasting_fingerprint(sample_race()), "52ee3ba1aceff6d3");
  EXPECT_EQ(mirrored_fingerprint(sample_race()), "a1f947c57bc81b97");
  EXPECT_EQ(lasting_fingerprint(sample_misuse()), "131029a390b154ed");
  EXPECT_EQ(lasting_fingerprint(sample_sync()), "933f6af53ecd7927");
  EXPECT_EQ(lasting_fingerprint(sample_nasty()), "f13d142c75f8fc5e");
  EXPECT_EQ(lasting_fingerprint(sample_hint()), "5a158eac6a489ca6");
}

TEST(LastingFingerprint, DoesNotDependOnWhatAnotherRunOrALineChanges) {
  const std::string before = lasting_fingerprint(sample_race());
  Finding f = sample_race();
  f.pid = 9;
  f.fingerprint = "another";
  f.severity = Severity::Latent;
  f.count = 5;
  for (AccessReport& access : f.accesses) {
    access.op += 100;
    access.thread += 1;
    access.stream = {"stream 77", StreamKind::Blocking, 0x99};
    access.begin += 4096;
    for (Frame& frame : access.stack) {
      frame.address += 0x1000;
      frame.line += 3;
      frame.column = 1;
      frame.offset += 0x20;
      frame.module = "/elsewhere" + frame.module;
      frame.file = "/moved" + frame.file;
    }
  }
  f.related.clear();
  f.message = f.explanation = "other words";
  EXPECT_EQ(lasting_fingerprint(f), before);
}

TEST(LastingFingerprint, DependsOnFunctionsKernelsAndHazard) {
  const std::string before = lasting_fingerprint(sample_race());
  const auto changed = [](auto change) {
    Finding f = sample_race();
    change(f);
    return lasting_fingerprint(f);
  };
  EXPECT_NE(changed([](Finding& f) { f.hazard = Hazard::WriteAfterRead; }), before);
  EXPECT_NE(changed([](Finding& f) { f.kind = Kind::HostRace; }), before);
  EXPECT_NE(changed([](Finding& f) { f.accesses[0].kernel = "other"; }), before);
  EXPECT_NE(changed([](Finding& f) { f.accesses[0].stack[1].function = "other()"; }), before);
  EXPECT_NE(changed([](Finding& f) { f.accesses[1].stack[0].function = "other()"; }), before);
  EXPECT_EQ(changed([](Finding& f) { f.accesses[0].stack[0].function = "other()"; }), before) << "a library's";
  EXPECT_EQ(changed([](Finding& f) { f.accesses[1].api = "cuMemcpyHtoDAsync_v3_ptsz"; }), before);
  EXPECT_NE(changed([](Finding& f) { f.accesses[1].api = "cuMemcpyDtoHAsync_v2"; }), before);
}

TEST(LastingFingerprint, WithoutNamesTheOffsetsCount) {
  Finding a = sample_race();
  for (AccessReport& access : a.accesses) {
    for (Frame& frame : access.stack) frame.function.clear();
  }
  Finding b = a;
  b.accesses[0].stack[1].offset += 4;
  EXPECT_NE(lasting_fingerprint(a), lasting_fingerprint(b));
}

TEST(LastingFingerprint, OfMisusesAndSynchronisation) {
  Finding misuse = sample_misuse(), other = sample_misuse();
  other.related[0].stack[0].function = "elsewhere()";
  EXPECT_NE(lasting_fingerprint(misuse), lasting_fingerprint(other));
  Finding sync = sample_sync(), verdict = sample_sync(), place = sample_sync();
  verdict.sync->verdict = Verdict::Needed;
  verdict.sync->orders.clear();
  place.sync->stack[0].function = "elsewhere()";
  EXPECT_EQ(lasting_fingerprint(sync), lasting_fingerprint(verdict));
  EXPECT_NE(lasting_fingerprint(sync), lasting_fingerprint(place));
}

TEST(Folded, FindingsOfOneFingerprintAreOne) {
  Finding first = sample_race(), second = sample_race(), third = sample_race(), other = sample_misuse();
  first.severity = Severity::Possible;
  second.suppressed = true;
  second.pid = 2;
  third.severity = Severity::Latent;
  third.count = 5;
  const std::vector<Folded> out = folded({&first, &second, &other, &third});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].worst, &third) << "a suppressed one counts least";
  EXPECT_EQ(out[0].count, 7u);
  EXPECT_EQ(out[0].pids, (std::vector<std::uint32_t>{4711, 2}));
  EXPECT_EQ(out[1].worst, &other);
  first.fingerprint = second.fingerprint = "";
  EXPECT_EQ(folded({&first, &second}).size(), 2u);
}

}  // namespace
}  // namespace streamsan::report
