// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programmatic launches (R-LCH-02), in the text form of the IR: kernel p writes d, what stands between is the case, and
// kernel q, which may begin before the kernel in front of it ends, reads d.
#include <gtest/gtest.h>

#include <stdexcept>

#include "analyzer/analysis/tests/script.h"
#include "analyzer/ir/text.h"

namespace streamsan::analyzer::testing {
namespace {

Script script_of(const std::string& between, const std::string& last) {
  Script script;
  std::string error;
  const std::string text = R"IR(function "f" usr "f"
  parameter s stream
  parameter t stream
  parameter e event
  parameter d pointer
  parameter x pointer
bb0:
  enqueue kernel p on s writes d
)IR" + between + last;
  if (!ir::parse(text, script.program, error)) throw std::runtime_error(error);
  script.function = script.program.functions.at("f");
  return script;
}

const std::string kEarly = "  enqueue kernel q on s programmatic waits reads d early reads\n";
const std::string kLate = "  enqueue kernel q on s programmatic waits reads d\n";

std::string reported_early(const std::string& between) { return reported(script_of(between, kEarly)); }
std::string reported_late(const std::string& between) { return reported(script_of(between, kLate)); }

TEST(Dependents, R_LCH_02_BeforeTheWait) {
  EXPECT_TRUE(reported_early("").starts_with("dependent-launch-race definite"));
  EXPECT_EQ(reported_late(""), "");
  EXPECT_EQ(reported(script_of("", "  enqueue kernel q on s reads d\n")), "");
}

TEST(Dependents, OnSomePathsIsMaybe) {
  const std::string last = "  enqueue kernel q on s programmatic perhaps_waits reads d perhaps_early reads\n";
  EXPECT_EQ(reported(script_of("", last)), "");
  EXPECT_EQ(reported(script_of("", "  enqueue kernel q on s perhaps_programmatic reads d early reads\n")), "");
}

TEST(Dependents, WhatIsDoneEarlyMustFight) {
  const std::string other = "  enqueue kernel q on s programmatic waits reads d, updates x early updates\n";
  EXPECT_EQ(reported(script_of("", other)), "");
}

TEST(Dependents, R_LCH_02f_BehindAnythingButAKernel) {
  EXPECT_EQ(reported_early("  enqueue fill cudaMemsetAsync on s writes x\n"), "");
  EXPECT_EQ(reported_early("  wait s for e\n"), "");
  EXPECT_EQ(reported_early("  sync_stream s\n"), "");
  EXPECT_EQ(reported_early("  sync_device\n"), "");
  EXPECT_EQ(reported_early("  enqueue kernel other on s writes x\n"), "");
}

TEST(Dependents, R_LCH_02g_ARecordWithoutTimingBetweenChangesNothing) {
  const std::string made = "  create_event e no_timing\n";
  EXPECT_TRUE(reported_early(made + "  record e on s\n").starts_with("dependent-launch-race definite"));
  EXPECT_EQ(reported_late(made + "  record e on s\n"), "");
  EXPECT_EQ(reported_early("  create_event e timing\n  record e on s\n"), "");
  EXPECT_EQ(reported_early("  record e on s\n"), "");
  EXPECT_EQ(reported_early(made + "  enqueue fill cudaMemsetAsync on s writes x\n  record e on s\n"), "");
  EXPECT_EQ(reported_early(made + "  record e on s\n  wait s for e\n"), "");
}

TEST(Dependents, R_LCH_02d_Chain) {
  EXPECT_TRUE(reported_late("  enqueue kernel b on s programmatic writes x early writes\n")
                  .starts_with("dependent-launch-race definite"));
  EXPECT_EQ(reported_late("  enqueue kernel b on s programmatic waits writes x\n"), "");
  EXPECT_EQ(reported_late("  enqueue kernel b on s programmatic perhaps_waits writes x\n"), "");
  EXPECT_EQ(reported_late("  enqueue kernel b on s perhaps_programmatic writes x early writes\n"), "");
}

TEST(Dependents, AKernelThatWaitsAndTriggersFirst) {
  EXPECT_TRUE(reported_early("  enqueue kernel b on s programmatic waits triggers_first writes x\n")
                  .starts_with("dependent-launch-race definite"));
  EXPECT_EQ(reported_early("  enqueue kernel b on s programmatic waits writes x\n"), "");
  EXPECT_EQ(reported_late("  enqueue kernel b on s programmatic waits triggers_first writes x\n"), "");
}

TEST(Dependents, R_LCH_02e_OrdinaryWorkBehindComesAfterAll) {
  const std::string last = "  enqueue kernel q on s reads d\n";
  EXPECT_EQ(reported(script_of("  enqueue kernel b on s programmatic writes x early writes\n", last)), "");
}

}  // namespace
}  // namespace streamsan::analyzer::testing
