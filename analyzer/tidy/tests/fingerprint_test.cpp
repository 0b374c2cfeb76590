// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When two findings are the same finding, and which baseline files are readable.
#include "analyzer/tidy/fingerprint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

Finding finding(const char* message = "'a' may read 16 bytes", const char* file = "a.cu", std::uint32_t line = 1) {
  Finding result;
  result.message = message;
  result.function = "run";
  result.site.file = file;
  result.site.line = line;
  return result;
}

std::string of(Finding one) {
  std::vector<Finding> list{std::move(one)};
  fingerprint(list);
  return list[0].fingerprint;
}

TEST(Fingerprint, IsStable) { EXPECT_EQ(of(finding()).size(), 16U); }

TEST(Fingerprint, LinesAndNumbersDoNotCount) {
  EXPECT_EQ(of(finding()), of(finding("'a' may read 16 bytes", "a.cu", 99)));
  EXPECT_EQ(of(finding()), of(finding("'a' may read 32 bytes")));
  EXPECT_EQ(of(finding("at 0x7f00")), of(finding("at 0x8a10")));
}

TEST(Fingerprint, NamesFilesFunctionsAndChecksCount) {
  EXPECT_NE(of(finding("'s1'")), of(finding("'s2'")));
  EXPECT_NE(of(finding()), of(finding("'a' may read 16 bytes", "b.cu")));
  Finding other = finding();
  other.function = "walk";
  EXPECT_NE(of(finding()), of(other));
  other = finding();
  other.check = Check::SelfWait;
  EXPECT_NE(of(finding()), of(other));
}

TEST(Fingerprint, EqualOnesAreNumbered) {
  std::vector<Finding> list{finding(), finding("other"), finding("'a' may read 16 bytes", "a.cu", 7)};
  fingerprint(list);
  EXPECT_EQ(list[2].fingerprint, list[0].fingerprint + "#2");
}

class Folder : public testing::Test {
 protected:
  Folder() : path_(fs::temp_directory_path() / ("streamsan-fingerprint-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() override { fs::remove_all(path_); }
  std::string write(const std::string& text) {
    std::ofstream(path_ / "baseline.json") << text;
    return (path_ / "baseline.json").string();
  }
  fs::path path_;
};

TEST_F(Folder, PathsCountFromTheRepository) {
  for (const char* checkout : {"one", "two"}) {
    fs::create_directories(path_ / checkout / ".git");
  }
  const auto in = [&](const char* checkout, const char* file) {
    return of(finding("m", (path_ / checkout / "src" / file).c_str()));
  };
  EXPECT_EQ(in("one", "a.cu"), in("two", "a.cu"));
  EXPECT_NE(in("one", "a.cu"), in("one", "b.cu"));
  EXPECT_NE(in("one", "a.cu"), in("three", "a.cu"));
}

/// Users have them in baselines and in the services that read SARIF: another value makes every finding a new one.
TEST_F(Folder, FingerprintsAreThoseThatWereRecorded) {
  fs::create_directories(path_ / ".git");
  const std::string file = (path_ / "src" / "a.cu").string();
  EXPECT_EQ(of(finding("'a' may read 16 bytes", file.c_str())), "b4ff5e78c60abaa5");
  Finding other = finding("stream 's' waits for event 'e', which it recorded itself", file.c_str());
  other.check = Check::SelfWait;
  other.function = "Pipeline<float>::step(int, \u00fc)";
  EXPECT_EQ(of(other), "e68ded5478f99d6a");
}

TEST_F(Folder, Baseline) {
  std::string error;
  EXPECT_EQ(read_baseline(write(R"({"version": 1, "fingerprints": ["a", "b#2"]})"), error),
            (std::set<std::string>{"a", "b#2"}));
  EXPECT_EQ(error, "");
  for (const char* bad : {"", "{", "[]", "{}", R"({"version": 2, "fingerprints": []})", R"({"version": 1})"}) {
    error.clear();
    EXPECT_TRUE(read_baseline(write(bad), error).empty());
    EXPECT_NE(error, "") << bad;
    EXPECT_EQ(error.find('\n'), std::string::npos) << bad;
  }
  error.clear();
  EXPECT_TRUE(read_baseline("/nonexistent", error).empty());
  EXPECT_NE(error, "");
}

}  // namespace
}  // namespace streamsan::analyzer
