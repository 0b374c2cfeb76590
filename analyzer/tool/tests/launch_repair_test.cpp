// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Braces in launch configurations: what is repaired, what is left alone, and that nothing ever moves.
#include "analyzer/tool/launch_repair.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace streamsan::analyzer {
namespace {

std::string repaired(const std::string& text) {
  const std::optional<std::string> result = repair_launches(text);
  if (result) {
    EXPECT_EQ(result->size(), text.size());
  }
  return result.value_or("unchanged");
}

TEST(LaunchRepair, BlockDimensions) {
  EXPECT_EQ(repaired("k<<<grid, {x, y, 1}, 0, s>>>(a);"), "k<<<grid, (x, y, 1), 0, s>>>(a);");
}
TEST(LaunchRepair, GridDimensions) { EXPECT_EQ(repaired("k<<<{gx, gy}, b>>>(a);"), "k<<<(gx, gy), b>>>(a);"); }
TEST(LaunchRepair, Both) { EXPECT_EQ(repaired("k<<<{1}, {2}>>>();"), "k<<<(1), (2)>>>();"); }
TEST(LaunchRepair, Empty) { EXPECT_EQ(repaired("k<<<g, { }, 0>>>();"), "k<<<g, 1  , 0>>>();"); }
TEST(LaunchRepair, TrailingComma) { EXPECT_EQ(repaired("k<<<g, {x, y,}>>>();"), "k<<<g, (x, y )>>>();"); }
TEST(LaunchRepair, OverLines) {
  EXPECT_EQ(repaired("k<<<g,\n  {x, // }>>>\n   y}\n  , 0>>>();"), "k<<<g,\n  (x, // }>>>\n   y)\n  , 0>>>();");
}
TEST(LaunchRepair, CommentBeforeTheBrace) { EXPECT_EQ(repaired("k<<<g, /*b*/ {x}>>>();"), "k<<<g, /*b*/ (x)>>>();"); }
TEST(LaunchRepair, NestedCalls) {
  EXPECT_EQ(repaired("k<T{1}><<<f(a, b{3}), {g({1}), 2}>>>();"), "k<T{1}><<<f(a, b{3}), (g({1}), 2)>>>();");
}
TEST(LaunchRepair, TwoLaunches) {
  EXPECT_EQ(repaired("a<<<1, {2}>>>(); b<<<{3}, 4>>>();"), "a<<<1, (2)>>>(); b<<<(3), 4>>>();");
}
TEST(LaunchRepair, InAMacro) {
  EXPECT_EQ(repaired("#define GO(k, x) \\\n  k<<<g, {x, 1}, 0, s>>>"), "#define GO(k, x) \\\n  k<<<g, (x, 1), 0, s>>>");
}

TEST(LaunchRepair, LeavesNamedTypes) { EXPECT_EQ(repaired("k<<<g, dim3{x, y, 1}, 0, s>>>(a);"), "unchanged"); }
TEST(LaunchRepair, LeavesPlainLaunches) { EXPECT_EQ(repaired("k<<<g, b, 0, s>>>({1, 2});"), "unchanged"); }
TEST(LaunchRepair, LeavesComments) { EXPECT_EQ(repaired("// k<<<g, {1}>>>();\n/* k<<<g, {1}>>> */"), "unchanged"); }
TEST(LaunchRepair, LeavesStrings) {
  EXPECT_EQ(repaired(R"X(f("k<<<g, {1}>>>()", R"(k<<<g, {1}>>>)", '"');)X"), "unchanged");
}
TEST(LaunchRepair, LeavesConflictMarkers) { EXPECT_EQ(repaired("<<<<<<< {a}\n=======\n>>>>>>> b"), "unchanged"); }
TEST(LaunchRepair, LeavesShifts) { EXPECT_EQ(repaired("a << b; c << d;"), "unchanged"); }
TEST(LaunchRepair, LeavesUnfinishedText) {
  for (const char* text : {"k<<<", "k<<<g, {", "k<<<g, {1}", "k<<<g, {1}; }", "k<<<)", "k<<<g, {1]}>>>"}) {
    EXPECT_EQ(repaired(text), "unchanged") << text;
  }
}
TEST(LaunchRepair, DigitSeparatorsAreNoCharacters) {
  EXPECT_EQ(repaired("int n = 1'000'000; k<<<g, {1}>>>();"), "int n = 1'000'000; k<<<g, (1)>>>();");
}

class LaunchRepairInFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("launch_repair_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_ / "include");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::filesystem::path folder_;
};

TEST_F(LaunchRepairInFiles, FollowsQuotedIncludes) {
  const std::string main = write("a.cu", "#include \"b.cuh\"\n#  include \"c.h\"\n#include <d.h>\n");
  const std::string beside = write("b.cuh", "#include \"a.cu\"\nk<<<1, {2}>>>();");
  const std::string found = write("include/c.h", "k<<<1, {3}>>>();");
  write("d.h", "k<<<1, {4}>>>();");
  IncludedText included;
  const auto texts = LaunchRepairs(included).with_includes(main, {(folder_ / "include").string()});
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(texts.at(beside), "#include \"a.cu\"\nk<<<1, (2)>>>();");
  EXPECT_EQ(texts.at(found), "k<<<1, (3)>>>();");
}

TEST(LaunchRepair, IncludeFolders) {
  const std::vector<std::string> folders =
      quoted_include_folders({"-Iinc", "-I", "../up", "-isystem", "/sys", "-iquote", "q", "-I/abs"}, "/p/build");
  EXPECT_EQ(folders, (std::vector<std::string>{"/p/build/inc", "/p/up", "/p/build/q", "/abs"}));
}

}  // namespace
}  // namespace streamsan::analyzer
