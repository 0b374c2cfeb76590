// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "testsuite/nulldriver/agent/script.h"

#include <gtest/gtest.h>

namespace streamsan::script {
namespace {

constexpr std::uint64_t kPointers[] = {0x7000 | std::uint64_t{3} << 52, 0x9000};

Answer answer(const std::string& text, std::string_view kernel = "_Z4fillPfi", unsigned number = 1) {
  Script script;
  EXPECT_EQ(script.read(text), "");
  return script.answer(kernel, number, kPointers, 2);
}

std::string shown(const Answer& answer) {
  std::string out;
  for (const StreamSanRange& range : answer.ranges) {
    char text[64];
    std::snprintf(text, sizeof text, "%llx-%llx:%x ", static_cast<unsigned long long>(range.begin),
                  static_cast<unsigned long long>(range.end), range.modes);
    out += text;
  }
  return out;
}

TEST(Script, RangesAreRelativeToPointers) {
  EXPECT_EQ(shown(answer("fill read #0 16\nfill write #1+256 16\nfill atomic #1-16 8")),
            "7000-7010:1 8ff0-8ff8:4 9100-9110:2 ");
  EXPECT_EQ(shown(answer("# a comment\n\nfill write #0 4 3 16 2 256")),
            "7000-7004:2 7010-7014:2 7020-7024:2 7100-7104:2 7110-7114:2 7120-7124:2 ");
}

TEST(Script, RangesOfAModeNeitherOverlapNorTouch) {
  EXPECT_EQ(shown(answer("fill write #0+16 16\nfill write #0 16\nfill write #0+8 4\nfill read #0+8 8")),
            "7000-7020:2 7008-7010:1 ");
  EXPECT_EQ(shown(answer("fill write #0 16 4 16")), "7000-7040:2 ");
}

TEST(Script, StatementsOfAMeasurementReplaceTheGeneralOnes) {
  const std::string text = "fill write #0 16\nfill@2 write #0 32\nfill@3 nothing";
  EXPECT_EQ(shown(answer(text)), "7000-7010:2 ");
  EXPECT_EQ(shown(answer(text, "_Z4fillPfi", 2)), "7000-7020:2 ");
  EXPECT_EQ(shown(answer(text, "_Z4fillPfi", 3)), "");
  EXPECT_TRUE(answer(text, "_Z4fillPfi", 3).known);
  EXPECT_EQ(shown(answer(text, "_Z4fillPfi", 4)), "7000-7010:2 ");
}

TEST(Script, OutcomesAndUnknownKernels) {
  Answer late = answer("fill outcome late it spins");
  EXPECT_EQ(late.at_end, kStreamSanLate);
  EXPECT_EQ(late.reason, "it spins");
  EXPECT_EQ(answer("fill begin busy").at_begin, kStreamSanBusy);
  EXPECT_FALSE(answer("fill nothing", "_Z5scalePf").known);
  EXPECT_EQ(answer("fill read #2 4").at_end, kStreamSanFailed) << "the launch has two pointers";
  Script script;
  EXPECT_EQ(script.read("start no device"), "");
  EXPECT_EQ(script.refusal(), "no device");
}

TEST(Script, FaultsAreNamedByTheirLine) {
  for (const char* line : {"fill", "fill wipe #0 4", "fill read 0 4", "fill read #0", "fill read #0 4 2",
                           "fill@0 nothing", "fill outcome busy", "fill begin incomplete", "fill read #0 four"}) {
    Script script;
    EXPECT_TRUE(script.read(std::string("\n") + line).starts_with("line 2: ")) << line;
  }
}

}  // namespace
}  // namespace streamsan::script
